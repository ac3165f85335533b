package httpapi

// organizationRoutes are the routes of organizations.
func (a *API) organizationRoutes() []Route {
	return nil
}
