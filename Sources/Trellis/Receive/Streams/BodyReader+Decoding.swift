extension BodyReader where Machine.Output == RawElement {
    /// Returns the next value from the bytes received so far, decoded on demand in the reader's task. An element that cannot be
    /// decoded ends the transfer.
    ///
    /// Inlined if the type of the parser is known, so that the code that finds the elements is not generic, even if the value is.
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
