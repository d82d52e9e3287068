import CCurl

/// What nghttp2 reports.
extension HTTP2Session {
    /// The functions that C calls.
    static var events: ccurl_http2_events {
        unsafe ccurl_http2_events(
            frame: { context, stream, type, flags, length, number in
                unsafe context.session.didReceiveFrame(
                    HTTP2Policy.Frame(kind: type, flags: flags, length: length, stream: number), isOpen: stream != nil)
            },
            begin_head: { _, stream, head in
                let stream = unsafe stream.stream
                unsafe head.pointee.fields.limit = max(
                    stream.headLimit - (stream.hasFinalHead ? 0 : stream.headBytes), 0)
                unsafe head.pointee.fields.maximum_count = WireFields.maximumCount
                unsafe head.pointee.fields.is_trailers = stream.hasFinalHead
            },
            end_head: { context, stream, head in
                unsafe context.session.didReceive(head.pointee, of: stream.stream)
            },
            body: { context, stream, bytes, count in
                let bytes = unsafe UnsafeRawBufferPointer(start: bytes, count: count).bytes
                unsafe context.session.receive(bytes, of: stream.stream)
            },
            end_data: { context, stream, length, padding, isLast in
                let session = unsafe context.session
                let content = max(length - padding, 0)
                session.judge(unsafe session.policy.didReceiveData(content: content, padding: padding, at: session.now))
                guard let stream = unsafe stream?.stream, isLast || session.isDecided(stream) else { return }
                session.end(stream, trailers: WireFields())
            },
            closed: { context, stream, code, cause in
                unsafe context.session.didClose(
                    stream.stream, with: HTTP2ErrorCode(rawValue: code), by: cause)
            },
            settings: { context, isAcknowledgement in unsafe context.session.didReceiveSettings(isAcknowledgement) },
            pong: { context, number in
                let session = unsafe context.session
                session.judge(unsafe session.policy.didReceiveAnswer(number, at: session.now))
            },
            go_away: { context, last, code, text, count in
                let session = unsafe context.session
                let goAway = unsafe HTTP2GoAway(
                    lastStream: last, code: HTTP2ErrorCode(rawValue: code),
                    debug: UnsafeRawBufferPointer(start: text, count: count))
                session.judge(unsafe session.policy.didReceive(goAway))
                unsafe session.delegate.sessionDidReceive(goAway)
            },
            fill: { context, stream, room, count in
                unsafe context.session.fillBody(
                    of: stream.stream, into: UnsafeMutableRawBufferPointer(start: room, count: count))
            },
            sent: { context, stream, isHead, count, isLast in
                unsafe context.session.didSend(stream.stream, isHead: isHead, count, isLast: isLast)
            })
    }

    // MARK: Frames

    func judge(_ fault: HTTP2Fault?) { if let fault { end(fault) } }

    fileprivate func didReceiveFrame(_ frame: HTTP2Policy.Frame, isOpen: Bool) -> Bool {
        guard let fault = unsafe policy.didReceive(frame, isOpen: isOpen, at: now) else { return true }
        end(fault)
        return false
    }

    fileprivate func didReceiveSettings(_ isAcknowledgement: Bool) {
        if isAcknowledgement { return settingsAcknowledged() }
        let allowed = unsafe ccurl_http2_allowed_streams(connection)
        unsafe policy.didReceiveSettings(maximumStreams: allowed == .max ? nil : allowed)
        settingsReceived()
        unsafe delegate.sessionDidChangeCapacity()
    }

    fileprivate func didSend(_ stream: HTTP2Stream, isHead: Bool, _ count: Int, isLast: Bool) {
        if !isHead {
            unsafe policy.didSendData(count, isCut: stream.sending.isCut)
            if count > 0 { unsafe delegate.streamDidSendBody(stream) }
        } else if !stream.isHeadSent {
            stream.isHeadSent = true
            unsafe delegate.streamDidSendHead(stream)
        }
        if isLast { stream.isRequestSent = true }
    }

    fileprivate func didClose(_ stream: HTTP2Stream, with code: HTTP2ErrorCode, by cause: Int32) {
        switch cause {
        case CCURL_HTTP2_BY_PEER:
            stream.resetCode = code
            let failure = EngineFailure(
                kind: .http2, message: "the server has reset the stream with \(code.name)",
                isUnprocessed: HTTP2Repetition.isUnprocessed(.reset(code)))
            fail(stream, failure, by: code == .refusedStream ? .refused : .failed)
        case CCURL_HTTP2_BY_GOAWAY where unsafe policy.goAway != nil:
            fail(stream, unsafe policy.goAway?.refusal ?? .outOfMemory, by: .failed)
        default:
            let failure = EngineFailure(kind: .http2, message: "the stream has failed with \(code.name)")
            fail(stream, lost(stream, failure), by: .failed)
        }
    }

    // MARK: Heads

    fileprivate func didReceive(_ head: ccurl_http2_head, of stream: HTTP2Stream) {
        do throws(EngineFailure) {
            stream.headBytes += unsafe head.received
            if let failure = unsafe head.failure(limit: stream.headLimit) { throw failure }
            if stream.hasFinalHead {
                guard unsafe head.ends else { throw EngineFailure(kind: .head(.secondHead), message: "") }
                return end(stream, trailers: unsafe head.wireFields)
            }
            let status = unsafe Int(head.status)
            let wire = unsafe WireHead(version: .http2, status: status, reason: "", fields: head.wireFields)
            if status < 200 {
                // A stream has no other protocol after it (RFC 9113, section 8.6).
                guard status != 101 else { throw EngineFailure(kind: .head(.unexpectedStatus(status)), message: "") }
                guard unsafe !head.ends else { throw EngineFailure(kind: .head(.cutShort), message: "") }
                return unsafe delegate.stream(stream, didReceiveInformational: wire)
            }
            unsafe try prepareBody(of: stream, head, wire)
            stream.hasFinalHead = true
            let ends = unsafe head.ends
            unsafe delegate.stream(stream, didReceiveHead: wire)
            if ends || isDecided(stream), stream.isActive { end(stream, trailers: WireFields()) }
        } catch {
            // A stream on which both sides have ended needs no reset.
            fail(stream, error, by: unsafe head.ends && stream.isRequestSent ? .failed : nil)
        }
    }

    /// Whether nothing but trailers can follow in a response, while the request is still being sent. The server may hold its end back until
    /// it has the complete request, so the response ends by its length, as over HTTP/1.1.
    fileprivate func isDecided(_ stream: HTTP2Stream) -> Bool {
        guard stream.isActive, !stream.isRequestSent else { return false }
        return unsafe stream.receiving.rest == 0
    }

    /// Finds the length of a response's body (RFC 9113, section 8.1.1).
    private func prepareBody(of stream: HTTP2Stream, _ head: ccurl_http2_head, _ wire: WireHead) throws(EngineFailure) {
        do throws(HeadFailure) {
            var length = unsafe head.fields.content_length < 0 ? nil : head.fields.content_length
            if unsafe Int32(bitPattern: head.fields.notes) & CCURL_NOTE_LENGTHS != 0 {
                length = nil
                for value in wire.fields.values(of: "content-length") {
                    length = unsafe try value.span.withUnsafeBytes { value throws(HeadFailure) in
                        unsafe try value.contentLength(known: length)
                    }
                }
            }
            // The bytes of another protocol have no length.
            if unsafe stream.upgrade != nil, 200..<300 ~= wire.status { return }
            let hasNoBody = stream.traits.contains(.isHead) || WireHead.hasNoBody(status: wire.status)
            unsafe stream.receiving.rest = hasNoBody ? 0 : length
        } catch {
            throw EngineFailure(kind: .head(error), message: "")
        }
    }
}

extension UnsafeMutableRawPointer {
    /// The session that is the context of an event.
    fileprivate var session: HTTP2Session {
        unsafe Unmanaged<HTTP2Session>.fromOpaque(self).takeUnretainedValue()
    }

    /// The stream of an event.
    fileprivate var stream: HTTP2Stream { unsafe Unmanaged<HTTP2Stream>.fromOpaque(self).takeUnretainedValue() }
}

extension ccurl_http2_head {
    /// The fields.
    fileprivate var wireFields: WireFields {
        guard unsafe fields.count > 0 else { return WireFields() }
        return unsafe WireFields(
            bytes: [UInt8](UnsafeRawBufferPointer(start: lines, count: fields.written)), count: fields.count)
    }

    /// Returns the failure of the head, if it is malformed, or larger than the limit.
    fileprivate func failure(limit: Int) -> EngineFailure? {
        let text = unsafe withUnsafeBytes(of: excerpt) { bytes in
            unsafe UnsafeRawBufferPointer(rebasing: bytes[..<Int(excerpt_length)]).excerpt
        }
        let failure: HeadFailure
        switch unsafe fault {
        case CCURL_HTTP2_FINE:
            guard unsafe status == 0, unsafe !fields.is_trailers else { return nil }
            failure = .badStatusLine("no :status")
        case CCURL_HTTP2_STATUS: failure = unsafe fields.is_trailers ? .secondHead : .badStatusLine(text)
        case CCURL_HTTP2_FIELD: failure = .badFieldLine(text)
        case CCURL_HTTP2_LARGE: failure = .tooLarge(limit: limit)
        case CCURL_HTTP2_MANY: failure = .tooManyFields
        default: return .outOfMemory
        }
        return EngineFailure(kind: .head(failure), message: "")
    }
}
