import HTTPTypes
import TrellisCore

extension HTTPFields {
    /// Returns the values of the lines of a field.
    func lines(_ name: String) -> [String] { HTTPField.Name(name).map { self[values: $0] } ?? [] }
}

extension Response {
    /// Returns whether a response may have a body, by its status and the method that it answers (RFC 9110, section 6.4.1).
    func mayHaveBody(after method: HTTPRequest.Method) -> Bool {
        method != .head && status.code != 204 && status.code != 304
    }
}
