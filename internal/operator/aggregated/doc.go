// Package aggregated is the aggregated API server of the operator: it answers
// the Kubernetes API server's requests for the group aggregation.coder.com, so
// that workspaces and templates are objects that kubectl gets, makes, starts,
// stops, deletes and watches. (OP-20 to OP-23)
//
// Nothing is stored. A namespace shows what the one control plane in it has; the
// operator's token of that control plane speaks, over verified TLS. Who may do
// what is the cluster's to say: requests are known by the certificate of the API
// server's front proxy, or by a review of their token, and each is allowed or
// refused by a review of the cluster's RBAC. Who is
// nobody is refused.
//
// Resource versions are times in nanoseconds. That of an object is when it
// changed, the same from every replica, and an update must name it. That of a
// list is when the list was true for the replica that gives it; see collection
// for what a watch makes of either.
package aggregated
