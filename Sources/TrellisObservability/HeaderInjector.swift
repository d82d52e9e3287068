#if Observability
import HTTPTypes
import Tracing
import TrellisCore

/// The injector of a context into a list of fields, which are then added to a request. A request to which nothing is added stays as it is.
struct HeaderInjector: Injector {
    /// The kinds of fields that the host of the request gets.
    let kinds: ContextFields

    func inject(_ value: String, forKey key: String, into fields: inout [HTTPField]) {
        guard let name = HTTPField.Name(key), kinds.contains(ContextFields(name)) else { return }
        fields.append(HTTPField(name: name, value: value))
    }
}

extension Request {
    /// Returns the request with the fields of a context. A field replaces the fields of its name: a repeated `traceparent` would be ignored
    /// by its receiver (W3C Trace Context, section 3.2).
    func withContext(_ fields: [HTTPField]) -> Request {
        guard !fields.isEmpty else { return self }
        var headers = self.headers
        for field in fields { headers[field.name] = field.value }
        var request = self
        request.headers = headers
        return request
    }
}
#endif
