import FoundationEssentials

/// A value that a form writes as a single text.
protocol FormScalar {
    /// Returns the text; `nil` if the value is written as the type encodes itself.
    func formText(_ options: URLEncodedFormEncoder) throws -> String?
}

extension FormScalar where Self: CustomStringConvertible {
    func formText(_ options: URLEncodedFormEncoder) -> String? { description }
}

extension String: FormScalar {}
extension Int: FormScalar {}
extension Int8: FormScalar {}
extension Int16: FormScalar {}
extension Int32: FormScalar {}
extension Int64: FormScalar {}
extension Int128: FormScalar {}
extension UInt: FormScalar {}
extension UInt8: FormScalar {}
extension UInt16: FormScalar {}
extension UInt32: FormScalar {}
extension UInt64: FormScalar {}
extension UInt128: FormScalar {}
extension Float: FormScalar {}
extension Double: FormScalar {}
extension Decimal: FormScalar {}

extension Bool: FormScalar {
    func formText(_ options: URLEncodedFormEncoder) -> String? { options.boolEncoding.text(self) }
}

extension Data: FormScalar {
    func formText(_ options: URLEncodedFormEncoder) throws -> String? { try options.dataEncoding.text(self) }
}

extension Date: FormScalar {
    func formText(_ options: URLEncodedFormEncoder) throws -> String? { try options.dateEncoding.text(self) }
}

extension URL: FormScalar {
    func formText(_ options: URLEncodedFormEncoder) -> String? { absoluteString }
}
