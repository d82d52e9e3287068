package import CurlEngine

/// An attempt that reads files itself. Other attempts get the bytes of a file as chunks.
package protocol FileTransportTask: TransportTask {
    /// Sends a file as the next bytes of the request's body. Room for more is only reported when the whole file is read.
    func send(_ file: FileReader)
}
