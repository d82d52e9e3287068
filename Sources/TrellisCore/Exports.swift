// The currency types of the interface come with it: `Data` and `URL`, `HTTPFields`, `HTTPRequest.Method`, `HTTPResponse`.
@_exported public import FoundationEssentials
@_exported public import HTTPTypes
