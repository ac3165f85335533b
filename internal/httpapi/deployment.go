package httpapi

// deploymentRoutes are the routes of deployments.
func (a *API) deploymentRoutes() []Route {
	return nil
}
