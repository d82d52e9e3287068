import CCurl

extension EasyHandle {
    /// Makes libcurl ask for the fields after a chunked body when the body has ended.
    func setTrailers() {
        _ = unsafe ccurl_set_trailer_function(curl, Callbacks.trailers)
        _ = unsafe ccurl_set_pointer(curl, CURLOPT_TRAILERDATA, Unmanaged.passUnretained(self).toOpaque())
    }
}
