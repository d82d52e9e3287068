/// The frames of the client in each case, as `HTTP2Transcript` tells them.
enum RecordedFrames {
    /// The cases whose frames depend on time, each with the reason.
    static let ofChance = [
        "answers many requests at once, each with its own answer": "the tasks have no order",
        "sends an echo of each byte, until the response ends first": "the last byte may be sent or not",
        "ends an exchange whose body's source fails": "the first part may be sent or not",
        "goes on after a reader that stops at the first byte": "the body may have ended or not",
    ]

    /// The settings: no push, and the window with which streams begin.
    private static let settings = "SETTINGS 2=0 4=262144"
    /// The fields that all requests have.
    private static let fields = "user-agent accept-encoding accept=*/*"

    static let all = [
        "hands on status, fields in order, repeated fields and body": [
            "1/0: \(settings), GOAWAY 0",
            "1/1: HEADERS GET :authority / \(fields), end",
        ],
        "hands on a response without a body": [
            "1/0: \(settings), GOAWAY 0",
            "1/1: HEADERS GET :authority / \(fields), end",
        ],
        "hands on any status as an answer": [
            "1/0: \(settings), GOAWAY 0",
            "1/1: HEADERS GET :authority /200 \(fields), end",
            "1/3: HEADERS GET :authority /299 \(fields), end",
            "1/5: HEADERS GET :authority /304 \(fields), end",
            "1/7: HEADERS GET :authority /404 \(fields), end",
            "1/9: HEADERS GET :authority /418 \(fields), end",
            "1/11: HEADERS GET :authority /500 \(fields), end",
            "1/13: HEADERS GET :authority /599 \(fields), end",
        ],
        "hands on a status that belongs to no class": [
            "1/0: \(settings), GOAWAY 0",
            "1/1: HEADERS GET :authority / \(fields), end",
        ],
        "hands on an empty response to every method": [
            "1/0: \(settings), GOAWAY 0",
            "1/1: HEADERS HEAD :authority / \(fields), end",
            "1/3: HEADERS GET :authority / \(fields), end",
            "1/5: HEADERS PUT :authority / \(fields) content-length=0, end",
            "1/7: HEADERS POST :authority / \(fields) content-length=0, end",
            "1/9: HEADERS DELETE :authority / \(fields), end",
        ],
        "expects no body after a head with a length if the method is HEAD": [
            "1/0: \(settings), GOAWAY 0",
            "1/1: HEADERS HEAD :authority / \(fields), end",
            "1/3: HEADERS GET :authority / \(fields), end",
        ],
        "hands on informational heads before the final one": [
            "1/0: \(settings), GOAWAY 0",
            "1/1: HEADERS GET :authority / \(fields), end",
        ],
        "hands on the fields after the body": [
            "1/0: \(settings), GOAWAY 0",
            "1/1: HEADERS GET :authority / \(fields), end",
        ],
        "hands on the head before the body has come": [
            "1/0: \(settings), GOAWAY 0",
            "1/1: HEADERS GET :authority / \(fields), end",
        ],
        "hands on the chunks of a body in their order": [
            "1/0: \(settings), GOAWAY 0",
            "1/1: HEADERS GET :authority / \(fields), end",
        ],
        "sends method, target and fields": [
            "1/0: \(settings), GOAWAY 0",
            "1/1: HEADERS PURGE :authority /a%20b?c=d&c=e x-many=1 x-many=2 \(fields), end",
        ],
        "sends a field with an empty value": [
            "1/0: \(settings), GOAWAY 0",
            "1/1: HEADERS GET :authority / x-empty= \(fields), end",
        ],
        "sends query items in order, repeated and empty ones too": [
            "1/0: \(settings), GOAWAY 0",
            "1/1: HEADERS GET :authority /items?a=1&b=2&c=&a=3%204 \(fields), end",
        ],
        "sends a GET without a body if only a URL is given": [
            "1/0: \(settings), GOAWAY 0",
            "1/1: HEADERS GET :authority / \(fields), end",
        ],
        "sends a POST if only a URL and a body are given": [
            "1/0: \(settings), GOAWAY 0",
            "1/1: HEADERS POST :authority / \(fields) content-length=5, DATA 5, end",
        ],
        "sends bodies in memory whole": [
            "1/0: \(settings), GOAWAY 0",
            "1/1: HEADERS POST :authority / \(fields) content-length=0, end",
            "1/3: HEADERS POST :authority / \(fields) content-length=1, DATA 1, end",
            "1/5: HEADERS POST :authority / \(fields) content-length=1000, DATA 1000, end",
            "1/7: HEADERS POST :authority / \(fields) content-length=65536, DATA 65536, end",
            "1/9: HEADERS POST :authority / \(fields) content-length=307200, DATA 307200, end",
        ],
        "sends streamed bodies whole and in order, with and without a length": [
            "1/0: \(settings), GOAWAY 0",
            "1/1: HEADERS POST :authority / \(fields), DATA 104950, end",
            "1/3: HEADERS POST :authority / \(fields) content-length=104950, DATA 104950, end",
        ],
        "sends a stream of a megabyte in one chunk whole": [
            "1/0: \(settings), GOAWAY 0",
            "1/1: HEADERS POST :authority / \(fields) content-length=1000000, DATA 1000000, end",
        ],
        "sends a stream without bytes as an empty body": [
            "1/0: \(settings), GOAWAY 0",
            "1/1: HEADERS POST :authority / \(fields), end",
            "1/3: HEADERS POST :authority / \(fields) content-length=0, end",
            "1/5: HEADERS POST :authority / \(fields), end",
            "1/7: HEADERS POST :authority / \(fields) content-length=0, end",
        ],
        "sends the fields behind a request's body": [
            "1/0: \(settings), GOAWAY 0",
            "1/1: HEADERS POST :authority / \(fields), DATA 4, HEADERS x-sum=42, end",
        ],
        "reports a connection that broke before the head as a failure to receive": [
            "1/0: \(settings)",
            "1/1: HEADERS POST :authority / \(fields) content-length=1, DATA 1, end",
        ],
        "reports a body that was cut short, after what came of it": [
            "1/0: \(settings)",
            "1/1: HEADERS GET :authority / \(fields), end",
            "2/0: \(settings)",
            "2/1: HEADERS GET :authority / \(fields), end",
        ],
        "goes on after a failure": [
            "1/0: \(settings)",
            "1/1: HEADERS GET :authority /bad \(fields), end",
            "2/0: \(settings), GOAWAY 0",
            "2/1: HEADERS GET :authority /good \(fields), end",
        ],
        "ends an exchange whose task is cancelled while it waits": [
            "1/0: \(settings), GOAWAY 0",
            "1/1: HEADERS GET :authority / \(fields), end, RST_STREAM 8",
        ],
        "ends an exchange whose task is cancelled while it reads the body": [
            "1/0: \(settings), GOAWAY 0",
            "1/1: HEADERS GET :authority / \(fields), end, RST_STREAM 8",
        ],
        "ends an exchange whose stream is dropped": [
            "1/0: \(settings), GOAWAY 0",
            "1/1: HEADERS GET :authority / \(fields), end, RST_STREAM 8",
            "1/3: HEADERS GET :authority / \(fields), end, RST_STREAM 8",
            "1/5: HEADERS GET :authority / \(fields), end, RST_STREAM 8",
        ],
        "ends what is in flight when the session is shut down": [
            "1/0: \(settings), GOAWAY 0",
            "1/1: HEADERS GET :authority / \(fields), end, RST_STREAM 8",
        ],
        "keeps every byte of a body that its reader holds up": [
            "1/0: \(settings), GOAWAY 0",
            "1/1: HEADERS GET :authority / \(fields), end",
        ],
        "hands on a megabyte to a reader of single bytes": [
            "1/0: \(settings), GOAWAY 0",
            "1/1: HEADERS GET :authority / \(fields), end",
        ],
        "goes on where it was when it is resumed": [
            "1/0: \(settings), GOAWAY 0",
            "1/1: HEADERS GET :authority / \(fields), end",
        ],
        "follows a redirect with the same method": [
            "1/0: \(settings), GOAWAY 0",
            "1/1: HEADERS GET :authority /301 \(fields), end",
            "1/3: HEADERS GET :authority /request \(fields), end",
            "1/5: HEADERS GET :authority /308 \(fields), end",
            "1/7: HEADERS GET :authority /request \(fields), end",
        ],
        "ends redirects that have no end": [
            "1/0: \(settings), GOAWAY 0",
            "1/1: HEADERS GET :authority /ping \(fields), end",
            "1/3: HEADERS GET :authority /pong \(fields), end",
            "1/5: HEADERS GET :authority /ping \(fields), end",
            "1/7: HEADERS GET :authority /pong \(fields), end",
            "1/9: HEADERS GET :authority /ping \(fields), end",
            "1/11: HEADERS GET :authority /pong \(fields), end",
            "1/13: HEADERS GET :authority /ping \(fields), end",
            "1/15: HEADERS GET :authority /pong \(fields), end",
            "1/17: HEADERS GET :authority /ping \(fields), end",
            "1/19: HEADERS GET :authority /pong \(fields), end",
        ],
        "sends back the cookie that a response has set": [
            "1/0: \(settings), GOAWAY 0",
            "1/1: HEADERS GET :authority /set \(fields), end",
            "1/3: HEADERS GET :authority /get cookie=id=4711 \(fields), end",
        ],
        "validates a stored response by its entity tag, and takes over the fields of the 304": [
            "1/0: \(settings), GOAWAY 0",
            "1/1: HEADERS GET :authority / \(fields), end",
            "1/3: HEADERS GET :authority / if-none-match=\"0\" \(fields), end",
            "1/5: HEADERS GET :authority / if-none-match=\"0\" \(fields), end",
            "1/7: HEADERS GET :authority / if-none-match=\"1\" \(fields), end",
            "1/9: HEADERS GET :authority / if-none-match=\"1\" \(fields), end",
            "1/11: HEADERS GET :authority / if-none-match=\"2\" \(fields), end",
        ],
        "decodes a body in gzip if it accepts the coding": [
            "1/0: \(settings), GOAWAY 0",
            "1/1: HEADERS GET :authority / \(fields), end",
        ],
        "decodes a body in deflate if it accepts the coding": [
            "1/0: \(settings), GOAWAY 0",
            "1/1: HEADERS GET :authority / \(fields), end",
        ],
        "decodes a body in br if it accepts the coding": [
            "1/0: \(settings), GOAWAY 0",
            "1/1: HEADERS GET :authority / \(fields), end",
        ],
        "hands on a body that is not coded although codings are accepted": [
            "1/0: \(settings), GOAWAY 0",
            "1/1: HEADERS GET :authority / \(fields), end",
        ],
        "receives an echo of each byte before it sends the next one": [
            "1/0: \(settings), GOAWAY 0",
            "1/1: HEADERS POST :authority / \(fields), DATA 1000, end",
        ],
    ]
}
