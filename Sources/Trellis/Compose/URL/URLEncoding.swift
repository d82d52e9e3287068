/// Sends a dictionary as a form, in the query or as the body.
public struct URLEncoding: ParameterEncoding {
    /// Where the form goes.
    public typealias Destination = ParameterDestination
    /// How the elements of an array are named.
    public typealias ArrayEncoding = URLEncodedFormEncoder.ArrayEncoding
    /// How `Bool` is written.
    public typealias BoolEncoding = URLEncodedFormEncoder.BoolEncoding

    /// By the method, with every default.
    public static let `default` = URLEncoding()
    /// In the query.
    public static let queryString = URLEncoding(destination: .query)
    /// As the body.
    public static let httpBody = URLEncoding(destination: .body)

    /// What makes the form and says where it goes.
    public var encoder: URLEncodedFormParameterEncoder

    /// An encoding.
    public init(
        destination: Destination = .methodDependent, arrayEncoding: ArrayEncoding = .brackets,
        boolEncoding: BoolEncoding = .numeric
    ) {
        encoder = URLEncodedFormParameterEncoder(
            encoder: URLEncodedFormEncoder(arrayEncoding: arrayEncoding, boolEncoding: boolEncoding),
            destination: destination)
    }

    /// An encoding with every option of the form encoder.
    public init(encoder: URLEncodedFormParameterEncoder) { self.encoder = encoder }

    /// Puts the parameters into the query or the body of the request.
    public func encode(_ parameters: [String: any Sendable], into request: inout Request) throws {
        try encoder.encode(DynamicParameters(parameters), into: &request)
    }
}

extension ParameterEncoding where Self == URLEncoding {
    /// A form, in the query or as the body by the method.
    public static var form: URLEncoding { .default }

    /// A form at a place of your choice.
    public static func form(destination: ParameterDestination) -> URLEncoding { URLEncoding(destination: destination) }
}
