/// What others keep with a request that nobody here has to know.
package protocol RequestAttachment: AnyObject, Sendable {}
