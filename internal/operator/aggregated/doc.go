// Package aggregated is the aggregated API server of the operator. It serves
// the group aggregation.coder.com, so that kubectl can get, create, start,
// stop, delete and watch workspaces and templates. (OP-20 to OP-23)
//
// Nothing is stored. A namespace shows the workspaces and templates of its one
// control plane, read over verified TLS with the operator's token. The cluster
// decides who may do what: a request is authenticated by the certificate of the
// API server's front proxy or by a token review, and authorized by a review of
// the cluster's RBAC. Unauthenticated requests are refused.
//
// Resource versions are times in nanoseconds. The version of an object is the
// time of its last change, the same in every replica, and an update must name
// it. The version of a list is the time at which the list was current in the
// replica that returned it; see collection for how a watch treats either.
package aggregated
