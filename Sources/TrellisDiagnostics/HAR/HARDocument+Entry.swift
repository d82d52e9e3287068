extension HARDocument {
    /// An exchange: one request on the wire, and its response or its failure. A call that is redirected or retried has several entries.
    public struct Entry: Sendable, Hashable, Codable {
        /// The instant at which the exchange began, in the form of RFC 3339, such as `2026-11-22T10:30:45.123Z`.
        public var startedDateTime: String
        /// The duration in milliseconds: the sum of ``timings`` that are not -1.
        public var time: Double
        /// The request.
        public var request: Request
        /// The response. The status is 0 if there is none.
        public var response: Response
        /// The durations of the phases.
        public var timings: Timings
        /// The address of the server or of its proxy; `nil` if not known.
        public var serverIPAddress: String?
        /// The port of the connection at this machine, which distinguishes it from others, or else its peer's; `nil` if not known.
        public var connection: String?
        /// A comment.
        public var comment: String?
        /// The number of the call in its process (``RequestEvent/callID``); `nil` if not known. In the file: `_callID`.
        public var callID: UInt64?
        /// The number of the attempt of the call, from 1 on; `nil` if not known. In the file: `_attempt`.
        public var attempt: Int?
        /// The way in which the cache has handled the request (RFC 9211); `nil` if there was none. In the file: `_cacheStatus`.
        public var cacheStatus: String?
        /// The URL of the proxy without its credentials; `nil` if there was none. In the file: `_proxy`.
        public var proxy: String?
        /// The number of the stream on an HTTP/2 connection; `nil` if there was none. In the file: `_streamNumber`.
        public var streamNumber: Int?
        /// What TLS has agreed on with the server, such as `TLS 1.3, TLS_AES_256_GCM_SHA384, h2`; `nil` without TLS, and if not known.
        /// In the file: `_tls`.
        public var tls: String?
        /// The facts that only a replay needs; `nil` if there are none. In the file: `_trellis`.
        public var replay: Replay?

        /// Creates an exchange without timings. Its ``time`` is 0.
        public init(startedDateTime: String, request: Request, response: Response) {
            self.startedDateTime = startedDateTime
            self.request = request
            self.response = response
            time = 0
            timings = Timings()
        }

        private enum CodingKeys: String, CodingKey {
            case startedDateTime, time, request, response, cacheUse = "cache", timings, serverIPAddress, connection,
                comment
            case callID = "_callID"
            case attempt = "_attempt"
            case cacheStatus = "_cacheStatus"
            case proxy = "_proxy"
            case streamNumber = "_streamNumber"
            case tls = "_tls"
            case replay = "_trellis"
        }

        /// The object of the cache, which HAR requires. It has no properties, because they would be the facts of a browser's cache.
        private struct Cache: Codable {}

        /// Decodes an exchange. Timings and instants may be missing.
        public init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            startedDateTime = try container.decodeIfPresent(String.self, forKey: .startedDateTime) ?? ""
            time = try container.decodeIfPresent(Double.self, forKey: .time) ?? 0
            request = try container.decode(Request.self, forKey: .request)
            response = try container.decode(Response.self, forKey: .response)
            timings = try container.decodeIfPresent(Timings.self, forKey: .timings) ?? Timings()
            serverIPAddress = try container.decodeIfPresent(String.self, forKey: .serverIPAddress)
            connection = try container.decodeIfPresent(String.self, forKey: .connection)
            comment = try container.decodeIfPresent(String.self, forKey: .comment)
            callID = try container.decodeIfPresent(UInt64.self, forKey: .callID)
            attempt = try container.decodeIfPresent(Int.self, forKey: .attempt)
            cacheStatus = try container.decodeIfPresent(String.self, forKey: .cacheStatus)
            proxy = try container.decodeIfPresent(String.self, forKey: .proxy)
            streamNumber = try container.decodeIfPresent(Int.self, forKey: .streamNumber)
            tls = try container.decodeIfPresent(String.self, forKey: .tls)
            replay = try container.decodeIfPresent(Replay.self, forKey: .replay)
        }

        /// Encodes the exchange.
        public func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(startedDateTime, forKey: .startedDateTime)
            try container.encode(time, forKey: .time)
            try container.encode(request, forKey: .request)
            try container.encode(response, forKey: .response)
            try container.encode(Cache(), forKey: .cacheUse)
            try container.encode(timings, forKey: .timings)
            try container.encodeIfPresent(serverIPAddress, forKey: .serverIPAddress)
            try container.encodeIfPresent(connection, forKey: .connection)
            try container.encodeIfPresent(comment, forKey: .comment)
            try container.encodeIfPresent(callID, forKey: .callID)
            try container.encodeIfPresent(attempt, forKey: .attempt)
            try container.encodeIfPresent(cacheStatus, forKey: .cacheStatus)
            try container.encodeIfPresent(proxy, forKey: .proxy)
            try container.encodeIfPresent(streamNumber, forKey: .streamNumber)
            try container.encodeIfPresent(tls, forKey: .tls)
            try container.encodeIfPresent(replay, forKey: .replay)
        }
    }

    /// The durations of an exchange's phases in milliseconds; -1 for a phase that did not occur.
    public struct Timings: Sendable, Hashable, Codable {
        /// The wait for limits and for a connection.
        public var blocked: Double = -1
        /// The resolution of the name.
        public var dns: Double = -1
        /// The making of the connection, including TLS.
        public var connect: Double = -1
        /// The TLS handshake, which is a part of ``connect``.
        public var ssl: Double = -1
        /// The sending of the request, as far as its end is known; never -1.
        public var send: Double = 0
        /// The wait for the response; never -1. A request whose end is not known is a part of it.
        public var wait: Double = 0
        /// The arrival of the response from its head on; never -1.
        public var receive: Double = 0

        /// Creates timings of phases that did not occur or took no time.
        public init() {}

        /// Reads timings. The phases before the request is sent may be missing (HAR 1.2, section "timings").
        public init(from decoder: any Decoder) throws {
            let values = try decoder.container(keyedBy: CodingKeys.self)
            blocked = try values.decodeIfPresent(Double.self, forKey: .blocked) ?? -1
            dns = try values.decodeIfPresent(Double.self, forKey: .dns) ?? -1
            connect = try values.decodeIfPresent(Double.self, forKey: .connect) ?? -1
            ssl = try values.decodeIfPresent(Double.self, forKey: .ssl) ?? -1
            send = try values.decode(Double.self, forKey: .send)
            wait = try values.decode(Double.self, forKey: .wait)
            receive = try values.decode(Double.self, forKey: .receive)
        }

        /// The sum of the timings that are not -1, without ``ssl``, which ``connect`` includes.
        public var sum: Double {
            [blocked, dns, connect, send, wait, receive].reduce(0) { $1 < 0 ? $0 : $0 + $1 }
        }
    }

    /// The section `_trellis` of an exchange: the facts that HAR has no place for, and that only a replay needs.
    public struct Replay: Sendable, Hashable, Codable {
        /// A failure of an exchange.
        public struct Failure: Sendable, Hashable, Codable {
            /// The name of the kind (``TrellisError/Kind``).
            public var kind: String
            /// The reason in words.
            public var reason: String
            /// Whether the request was being sent when the failure occurred.
            public var isConnected: Bool

            /// Creates a failure.
            public init(kind: String, reason: String, isConnected: Bool) {
                self.kind = kind
                self.reason = reason
                self.isConnected = isConnected
            }

            /// The name of ``reason`` in recordings of version 0.1.
            private enum EarlierKeys: String, CodingKey { case reason = "why" }

            /// Reads a failure, of a recording of version 0.1 too.
            ///
            /// - Throws: `DecodingError` if a part is missing.
            public init(from decoder: any Decoder) throws {
                let values = try decoder.container(keyedBy: CodingKeys.self)
                let earlier = try decoder.container(keyedBy: EarlierKeys.self)
                kind = try values.decode(String.self, forKey: .kind)
                reason =
                    try earlier.decodeIfPresent(String.self, forKey: .reason)
                    ?? values.decode(String.self, forKey: .reason)
                isConnected = try values.decode(Bool.self, forKey: .isConnected)
            }
        }

        /// An informational head (1xx).
        public struct Head: Sendable, Hashable, Codable {
            /// The status code.
            public var status: Int
            /// The fields, in their order.
            public var headers: [Field]

            /// Creates a head.
            public init(status: Int, headers: [Field]) {
                self.status = status
                self.headers = headers
            }
        }

        /// The chunks of the body in their order, each with its time since the chunk before it in milliseconds, and its length in bytes.
        public var chunks: [[Double]]?
        /// The heads before the final one.
        public var informational: [Head]?
        /// The fields after the body.
        public var trailers: [Field]?
        /// The failure of the exchange.
        public var failure: Failure?
        /// Whether the reader left before the end of the body, so that the rest is not known.
        public var isCut: Bool?
        /// Whether the body has its content codings, because they could not be removed.
        public var isCoded: Bool?

        /// Creates an empty section.
        public init() {}

        /// Whether nothing is set.
        package var isEmpty: Bool { self == Replay() }
    }
}
