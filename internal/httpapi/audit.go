package httpapi

// auditRoutes are the routes of audits.
func (a *API) auditRoutes() []Route {
	return nil
}
