#if Observability
import HTTPTypes
import Tracing

/// The injector of a context into the fields of a request. A field replaces the fields of its name: a repeated `traceparent` would be
/// ignored by its receiver (W3C Trace Context, section 3.2).
struct HeaderInjector: Injector {
    func inject(_ value: String, forKey key: String, into fields: inout HTTPFields) {
        guard let name = HTTPField.Name(key) else { return }
        fields[name] = value
    }
}
#endif
