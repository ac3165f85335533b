package scim

import (
	"slices"
	"strings"
)

// URNs of SCIM: of resources, and of messages.
const (
	userURN   = "urn:ietf:params:scim:schemas:core:2.0:User"
	groupURN  = "urn:ietf:params:scim:schemas:core:2.0:Group"
	listURN   = "urn:ietf:params:scim:api:messages:2.0:ListResponse"
	patchURN  = "urn:ietf:params:scim:api:messages:2.0:PatchOp"
	schemaURN = "urn:ietf:params:scim:schemas:core:2.0:Schema"
	typeURN   = "urn:ietf:params:scim:schemas:core:2.0:ResourceType"
	configURN = "urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig"
)

// Attribute describes an attribute of a resource (RFC 7643 section 7).
type Attribute struct {
	Name          string      `json:"name"`
	Type          string      `json:"type"` // string, boolean, dateTime, reference or complex
	MultiValued   bool        `json:"multiValued"`
	Description   string      `json:"description"`
	Required      bool        `json:"required"`
	CaseExact     bool        `json:"caseExact"`
	Mutability    string      `json:"mutability"`
	Returned      string      `json:"returned"`
	Uniqueness    string      `json:"uniqueness"`
	SubAttributes []Attribute `json:"subAttributes,omitempty"`
}

// Schema describes the attributes of a kind of resource.
type Schema struct {
	Schemas     []string    `json:"schemas"`
	ID          string      `json:"id"`
	Name        string      `json:"name"`
	Description string      `json:"description"`
	Attributes  []Attribute `json:"attributes"`
	Meta        Resource    `json:"meta"`
	endpoint    string
}

// attribute returns the attribute of a name in any case, also a common one of all resources; nil if there is
// none.
func (s *Schema) attribute(name string) *Attribute {
	for _, list := range [][]Attribute{s.Attributes, commonAttributes} {
		if a := find(list, name); a != nil {
			return a
		}
	}
	return nil
}

func find(list []Attribute, name string) *Attribute {
	i := slices.IndexFunc(list, func(a Attribute) bool { return strings.EqualFold(a.Name, name) })
	if i < 0 {
		return nil
	}
	return &list[i]
}

// text returns an attribute that clients can write.
func text(name, description string) Attribute {
	return Attribute{Name: name, Type: "string", Description: description, Mutability: "readWrite", Returned: "default", Uniqueness: "none"}
}

// readOnly returns an attribute that the server sets.
func readOnly(name, kind, description string) Attribute {
	a := text(name, description)
	a.Type, a.Mutability, a.CaseExact = kind, "readOnly", kind != "string"
	return a
}

// with returns the attribute with its parts.
func (a Attribute) with(parts ...Attribute) Attribute {
	a.Type, a.SubAttributes = "complex", parts
	return a
}

// many returns the attribute as one with several values.
func (a Attribute) many() Attribute {
	a.MultiValued = true
	return a
}

// required returns the attribute as one that a resource must have.
func (a Attribute) required(uniqueness string) Attribute {
	a.Required, a.Uniqueness = true, uniqueness
	return a
}

// exact returns the attribute as one whose case matters.
func (a Attribute) exact() Attribute {
	a.CaseExact = true
	return a
}

// boolean returns the attribute as true or false.
func (a Attribute) boolean() Attribute {
	a.Type = "boolean"
	return a
}

// commonAttributes are those of all resources (RFC 7643 section 3.1).
var commonAttributes = []Attribute{
	readOnly("id", "string", "ID of the resource in this deployment").exact(),
	text("externalId", "ID of the resource at the identity provider").exact(),
	readOnly("schemas", "reference", "URNs of the schemas of the resource").many(),
	readOnly("meta", "complex", "Metadata of the resource").with(
		readOnly("resourceType", "string", "Kind of the resource").exact(),
		readOnly("created", "dateTime", "Time of creation"),
		readOnly("lastModified", "dateTime", "Time of the last change"),
		readOnly("location", "reference", "URI of the resource"),
	),
}

var userSchema = Schema{
	Schemas: []string{schemaURN}, ID: userURN, Name: "User", Description: "User account", endpoint: "Users",
	Attributes: []Attribute{
		immutable(text("userName", "Unique name of the user at the identity provider, such as the email address. It cannot be changed.").required("server")),
		text("name", "Parts of the full name").with(
			text("formatted", "Full name"), text("familyName", "Family name"), text("givenName", "Given name"),
		),
		text("displayName", "Full name that pages show"),
		text("emails", "Email addresses. The account has the primary one.").many().with(
			text("value", "Email address"), text("display", "Name of the address"), text("type", "Kind of the address, such as work"),
			text("primary", "Whether this is the address of the account").boolean(),
		),
		text("active", "Whether the user can sign in. A user who is not active is suspended: all sessions have ended.").boolean(),
		readOnly("groups", "complex", "Groups of the user").many().with(
			readOnly("value", "string", "ID of the group").exact(), readOnly("display", "string", "Name of the group"),
			readOnly("$ref", "reference", "URI of the group"), readOnly("type", "string", "Always direct"),
		),
	},
}

var groupSchema = Schema{
	Schemas: []string{schemaURN}, ID: groupURN, Name: "Group", Description: "Group of the default organization", endpoint: "Groups",
	Attributes: []Attribute{
		text("displayName", "Name of the group").required("server"),
		text("members", "Members of the group").many().with(
			immutable(text("value", "ID of the user").exact()), readOnly("display", "string", "Username"),
			readOnly("$ref", "reference", "URI of the user"), readOnly("type", "string", "Always User"),
		),
	},
}

func immutable(a Attribute) Attribute {
	a.Mutability = "immutable"
	return a
}

// Discovery returns the document of ServiceProviderConfig.
func (s *Service) Discovery() Resource {
	no := Resource{"supported": false}
	return Resource{
		"schemas": []string{configURN},
		"patch":   Resource{"supported": true},
		"bulk":    Resource{"supported": false, "maxOperations": 0, "maxPayloadSize": 0},
		"filter":  Resource{"supported": true, "maxResults": MaxPage},

		"changePassword": no, "sort": no, "etag": no,
		"authenticationSchemes": []Resource{{
			"type": "oauthbearertoken", "name": "Bearer token", "description": "The value of --scim-auth-header as the bearer token of the header Authorization",
			"primary": true,
		}},
		"meta": Resource{"resourceType": "ServiceProviderConfig", "location": s.location("ServiceProviderConfig")},
	}
}

// Types returns the resource types.
func (s *Service) Types() []Resource {
	out := make([]Resource, 0, 2)
	for _, d := range []*Schema{&userSchema, &groupSchema} {
		out = append(out, Resource{
			"schemas": []string{typeURN}, "id": d.Name, "name": d.Name, "description": d.Description, "endpoint": "/" + d.endpoint, "schema": d.ID,
			"meta": Resource{"resourceType": "ResourceType", "location": s.location("ResourceTypes", d.Name)},
		})
	}
	return out
}

// Schemas returns the schemas of the resource types.
func (s *Service) Schemas() []Schema {
	out := []Schema{userSchema, groupSchema}
	for i := range out {
		out[i].Meta = Resource{"resourceType": "Schema", "location": s.location("Schemas", out[i].ID)}
	}
	return out
}

// location returns the URI of a resource.
func (s *Service) location(path ...string) string {
	return s.c.URL + "/" + strings.Join(path, "/")
}
