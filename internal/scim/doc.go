// Package scim provisions users and groups on behalf of an identity provider, by SCIM 2.0 (RFC 7643 and 7644).
//
// A User is an account that is neither of the system nor a service account. The provider's userName, externalId and
// names are stored beside the account. An account that exists before the provider knows it is shown with its email
// address as userName. It is managed by SCIM from the first change on. A Group is a group of the default
// organization.
//
// A user who is not active is suspended, which ends all sessions at once. A deleted user is suspended and no longer
// shown; workspaces stay. Provisioning the user again makes the account dormant until the next sign-in.
//
// Resources are maps of the attributes that the schemas name. POST, PUT and PATCH all set attributes through the
// same checks, and attributes that no schema names are ignored, because providers send more than servers know. Then
// the difference is applied by the use cases of packages identity and organization, which audit it.
package scim
