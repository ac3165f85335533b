package httpapi

// userRoutes are the routes of users.
func (a *API) userRoutes() []Route {
	return nil
}
