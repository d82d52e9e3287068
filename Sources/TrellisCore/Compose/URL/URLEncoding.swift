/// An encoding that sends a dictionary as a form, in the query or as the body.
public struct URLEncoding: ParameterEncoding {
    /// The place of the form.
    public typealias Destination = ParameterDestination
    /// The naming of an array's elements.
    public typealias ArrayEncoding = URLEncodedFormEncoder.ArrayEncoding
    /// The text form of `Bool`.
    public typealias BoolEncoding = URLEncodedFormEncoder.BoolEncoding

    /// An encoding with the default options, into the query or the body depending on the method.
    public static let `default` = URLEncoding()
    /// An encoding into the query.
    public static let queryString = URLEncoding(destination: .query)
    /// An encoding as the body.
    public static let httpBody = URLEncoding(destination: .body)

    /// The encoder that writes the parameters as a form, and puts the form into the query or the body.
    public var encoder: URLEncodedFormParameterEncoder

    /// Creates an encoding.
    public init(
        destination: Destination = .methodDependent, arrayEncoding: ArrayEncoding = .brackets,
        boolEncoding: BoolEncoding = .numeric
    ) {
        encoder = URLEncodedFormParameterEncoder(
            encoder: URLEncodedFormEncoder(arrayEncoding: arrayEncoding, boolEncoding: boolEncoding),
            destination: destination)
    }

    /// Creates an encoding with every option of the form encoder.
    public init(encoder: URLEncodedFormParameterEncoder) { self.encoder = encoder }

    /// Puts the parameters into the query or the body of the request.
    ///
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/invalidRequest`` if a value cannot be encoded.
    public func encode(_ parameters: [String: any Sendable], into request: inout Request) throws {
        try encoder.encode(DynamicParameters(parameters), into: &request)
    }
}

extension ParameterEncoding where Self == URLEncoding {
    /// The encoding as a form in the query or the body, depending on the method.
    public static var form: URLEncoding { .default }

    /// Returns an encoding as a form in a place of your choice.
    public static func form(destination: ParameterDestination) -> URLEncoding { URLEncoding(destination: destination) }
}
