package import CurlEngine

/// An attempt that reads files itself. Others get their bytes as chunks.
package protocol FileTransportTask: TransportTask {
    /// The next bytes of the request's body are those of the file. Room for more is only told of when all are read.
    func send(_ file: FileReader)
}
