import FoundationEssentials

/// Sends parameters as a form, in the query or as the body, with the type
/// `application/x-www-form-urlencoded; charset=utf-8`.
///
/// In a query, parameters that encode to nothing change nothing; as a body they are one of no bytes.
public struct URLEncodedFormParameterEncoder: ParameterEncoder {
    /// Where the form goes.
    public typealias Destination = ParameterDestination

    /// With every default.
    public static let `default` = URLEncodedFormParameterEncoder()

    /// What makes the form.
    public var encoder: URLEncodedFormEncoder
    /// Where the form goes, ``ParameterDestination/methodDependent`` unless set.
    public var destination: Destination

    /// An encoder.
    public init(
        encoder: URLEncodedFormEncoder = URLEncodedFormEncoder(), destination: Destination = .methodDependent
    ) {
        self.encoder = encoder
        self.destination = destination
    }

    /// Puts the parameters into the query or the body of the request.
    public func encode(_ parameters: some Encodable & Sendable, into request: inout Request) throws {
        let isQuery = destination.isQuery(for: request.method)
        do {
            let form = try encoder.encode(parameters)
            if isQuery {
                request.url = URLQuery.appending(form, to: request.url)
            } else {
                request.body = .data(Data(form.utf8), contentType: "application/x-www-form-urlencoded; charset=utf-8")
            }
        } catch {
            throw TrellisError.parameters(error, request)
        }
    }
}

extension ParameterEncoder where Self == URLEncodedFormParameterEncoder {
    /// A form, in the query or as the body by the method.
    public static var form: URLEncodedFormParameterEncoder { .default }

    /// A form.
    ///
    /// - Parameters:
    ///   - destination: Where it goes; by the method unless given.
    ///   - encoder: What makes it.
    public static func form(
        destination: ParameterDestination = .methodDependent, encoder: URLEncodedFormEncoder = URLEncodedFormEncoder()
    ) -> URLEncodedFormParameterEncoder {
        URLEncodedFormParameterEncoder(encoder: encoder, destination: destination)
    }
}
