import FoundationEssentials

/// An encoder that sends parameters as a form, in the query, or as a body of the type
/// `application/x-www-form-urlencoded; charset=utf-8`.
///
/// Parameters that encode to nothing leave a query unchanged, and make a body of zero bytes.
public struct URLEncodedFormParameterEncoder: ParameterEncoder {
    /// The place of the form.
    public typealias Destination = ParameterDestination

    /// An encoder with the default options.
    public static let `default` = URLEncodedFormParameterEncoder()

    /// The encoder that makes the form; one with default settings unless given.
    public var encoder: URLEncodedFormEncoder
    /// The place of the form; ``ParameterDestination/methodDependent`` by default.
    public var destination: Destination

    /// Creates an encoder.
    public init(
        encoder: URLEncodedFormEncoder = URLEncodedFormEncoder(), destination: Destination = .methodDependent
    ) {
        self.encoder = encoder
        self.destination = destination
    }

    /// Puts the parameters into the query or the body of the request.
    ///
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/invalidRequest`` if a value cannot be encoded.
    public func encode(_ parameters: some Encodable & Sendable, into request: inout Request) throws {
        let isQuery = destination.isQuery(for: request.method)
        do {
            let form = try encoder.encode(parameters)
            if isQuery {
                request.url = URLQuery.appending(form, to: request.url)
            } else {
                request.body = .data(Data(form.utf8), contentType: RequestBody.formType)
            }
        } catch {
            throw TrellisError.parameters(error, request)
        }
    }
}

extension ParameterEncoder where Self == URLEncodedFormParameterEncoder {
    /// The encoder for a form in the query or the body, depending on the method.
    public static var form: URLEncodedFormParameterEncoder { .default }

    /// Returns an encoder for a form.
    ///
    /// - Parameters:
    ///   - destination: The place of the form; by default the query or the body, depending on the method.
    ///   - encoder: The encoder that makes the form.
    public static func form(
        destination: ParameterDestination = .methodDependent, encoder: URLEncodedFormEncoder = URLEncodedFormEncoder()
    ) -> URLEncodedFormParameterEncoder {
        URLEncodedFormParameterEncoder(encoder: encoder, destination: destination)
    }
}
