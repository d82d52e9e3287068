import CurlEngine

/// A handle on one request whose response is read as a stream.
///
/// The request starts when its ``response`` or the first value of its ``downloadProgress`` is asked for, or when ``resume()`` is called,
/// and is sent once. Copies, and the results of ``validate()`` and its like, are handles on the same request. The request ends
/// when the last handle on it and its response are released.
///
/// ```swift
/// let request = session.streamRequest("https://example.com/log").validate()
/// for try await line in try await request.response.lines { print(line) }
/// ```
public struct StreamRequest: Sendable {
    let handle: RequestHandle
    /// The conditions that this handle has of the response.
    let validation: Validation

    init(_ handle: RequestHandle, _ validation: Validation = Validation()) {
        self.handle = handle
        self.validation = validation
    }

    /// The response as soon as its head has been received, validated if ``validate()`` or its like was called. The body can be read once:
    /// all readers of the response share it.
    ///
    /// - Throws: ``TrellisError``; an error that a validator throws; `CancellationError` in a cancelled task.
    public var response: StreamResponse {
        get async throws {
            let response = StreamResponse(try await handle.response())
            return try await response.validate(validation.validators(withDefaults: false))
        }
    }

    /// The request as it is sent, with its session's defaults.
    ///
    /// Each access prepares the request anew, on the calling thread: the sizes of the body's files are looked up, and a body whose
    /// compression is asked for is compressed. Keep the result if you need it again.
    ///
    /// - Throws: The reason why the request cannot be sent.
    public var request: Request {
        get throws { try handle.request() }
    }

    /// The number of the call in its process: ``RequestEvent/callID`` of its events, and ``Response/callID``; `nil` if the request
    /// could not be made.
    public var callID: UInt64? { handle.callID }

    /// The exchanges of the request that have ended, in their order: each attempt and each redirect is one. A request with more than
    /// 1,000 shows the last ones.
    public var exchanges: [RequestExchange] { handle.exchanges }

    /// The number of attempts after the first one.
    public var retryCount: Int { handle.retryCount }

    /// The state of the request at this moment. A stream is `finished` when its head has been received; its body is the response's.
    public var state: RequestState {
        get async { await handle.state }
    }

    /// The progress of the response's body: bytes on the wire, before decoding, and their total if the head announces it.
    ///
    /// The first reader that waits for a value starts the request. Read the progress in another task than the body: the body is received
    /// at the pace of its reader, and its progress stands still without one.
    public var downloadProgress: TransferProgressSequence { handle.progress { $0.downloadProgress } }

    /// Starts the request, or resumes it, its body included.
    public func resume() { try? handle.actor.get().resume() }

    /// Suspends the request: a request that waits leaves the queue, a request in flight stops its traffic, its body's included.
    public func suspend() { try? handle.actor.get().suspend() }

    /// Cancels the request; readers of its response get an error of kind ``TrellisError/Kind/cancelled``. Does nothing if the
    /// request has ended already.
    public func cancel() { try? handle.actor.get().end(TrellisError(.cancelled(.explicitly))) }
}

/// Conditions that the response has to meet before it is returned; each method returns a handle on the same request.
extension StreamRequest {
    /// Requires a status of 200 to 299, and then a content type that the request's `Accept` includes.
    public func validate() -> StreamRequest { validate(.successfulStatus).validate(.acceptedContentType) }

    /// Requires a status in a range, such as `..<400`.
    public func validate(statusCode range: some RangeExpression<Int>) -> StreamRequest { validate(.statusCode(range)) }

    /// Requires a status in a range, such as `200..<300` or `500...`.
    public func validate(statusCode range: some RangeExpression<Int> & Sequence<Int>) -> StreamRequest {
        validate(.statusCode(range))
    }

    /// Requires one of several statuses, such as `[200, 404]`.
    public func validate(statusCode codes: some Sequence<Int>) -> StreamRequest { validate(.statusCode(codes)) }

    /// Requires one of several content types, such as `application/json` or `image/*`: see ``Validator/contentType(_:)``.
    public func validate(contentType types: some Sequence<String>) -> StreamRequest { validate(.contentType(types)) }

    /// Requires the condition of a closure, to which the body is passed as `nil`. An error that the closure throws is the reader's.
    public func validate(_ check: @escaping Validator.Check) -> StreamRequest { validate(Validator(check)) }

    /// Requires the condition of a validator.
    public func validate(_ validator: Validator) -> StreamRequest {
        StreamRequest(handle, validation.adding(validator))
    }
}

extension StreamRequest: CustomStringConvertible, CustomDebugStringConvertible {
    /// The method, the URL without its secrets, and the number of the call: `GET https://example.com/ (call 7)`.
    public var description: String { handle.description }

    /// The same as ``description``.
    public var debugDescription: String { description }
}
