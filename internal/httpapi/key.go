package httpapi

// keyRoutes are the routes of keys.
func (a *API) keyRoutes() []Route {
	return nil
}
