import Glibc

/// One GET, or another request, over a connection of its own.
enum PlainGet {
    struct Refused: Error, CustomStringConvertible {
        let description: String
    }

    static func answer(to path: String, port: UInt16) throws -> (status: Int, body: [UInt8]) {
        try answer(to: Array("GET \(path) HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".utf8), port: port)
    }

    static func answer(to request: [UInt8], port: UInt16) throws -> (status: Int, body: [UInt8]) {
        try answer(to: request, on: try Connection(port: port))
    }

    /// - Parameter seconds: How long to wait for it.
    static func answer(
        to request: [UInt8], on connection: Connection, within seconds: Int32 = 10
    ) throws -> (status: Int, body: [UInt8]) {
        _ = try connection.begin(at: 0) { buffer in
            buffer.copyBytes(from: request)
            return request.count
        }
        var watched = pollfd(fd: connection.descriptor, events: Int16(POLLIN), revents: 0)
        while true {
            guard poll(&watched, 1, seconds * 1000) > 0 else { throw ConnectionError.silence(seconds: Int(seconds)) }
            if let (status, body) = try connection.receive() { return (status, Array(body)) }
        }
    }

    static func body(of path: String, port: UInt16) throws -> [UInt8] {
        let (status, body) = try answer(to: path, port: port)
        guard status == 200 else { throw Refused(description: "\(path): \(status)") }
        return body
    }
}
