/// An object that another part of the framework keeps with a request, opaque to the request itself.
package protocol RequestAttachment: AnyObject, Sendable {}
