extension RequestBody {
    /// Whether it can be sent a second time: bytes and files can, and streams that are made anew for each sending.
    package var isReplayable: Bool {
        switch source {
        case .data, .file: true
        case .stream(_, let isReplayable, _): isReplayable
        case .multipart(let form): form.parts.allSatisfy(\.body.isReplayable)
        }
    }
}
