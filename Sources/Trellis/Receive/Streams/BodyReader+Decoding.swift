extension BodyReader where Machine.Output == RawElement {
    /// The next value of what has come: decoded when it is asked for, in the reader's task. What cannot be decoded ends the
    /// transfer.
    ///
    /// Inlined where the machine is known: what finds the elements then is not generic, even where the value is.
    @inline(__always)
    mutating func take<Value>(_ decoder: ElementDecoder<Value>) throws -> Value? {
        while let element = try take() {
            do {
                if let value = try decoder.decode(element) { return value }
            } catch {
                close()
                throw error
            }
        }
        return nil
    }
}
