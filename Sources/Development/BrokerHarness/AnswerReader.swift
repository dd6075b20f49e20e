/// Reads HTTP/1.1 answers from octets that arrive in any portions. RFC 9112 §6.
struct AnswerReader {
    private var buffer: [UInt8] = []

    mutating func append(_ octets: some Collection<UInt8>) { buffer += octets }

    var isEmpty: Bool { buffer.isEmpty }

    /// The next complete answer, taken out of the buffer; `nil` if more octets are needed.
    /// - Parameters:
    ///   - hasNoBody: Whether it answers a HEAD request.
    ///   - isEnd: Whether nothing more will come: ends a body of unknown length.
    mutating func next(hasNoBody: Bool, isEnd: Bool) throws -> HTTPAnswer? {
        guard let headEnd = buffer.firstRange(of: Array("\r\n\r\n".utf8)) else { return nil }
        let lines = String(decoding: buffer[..<headEnd.lowerBound], as: UTF8.self).split(separator: "\r\n")
        let statusLine = lines.first.map(String.init) ?? ""
        let parts = statusLine.split(separator: " ", maxSplits: 2)
        guard parts.count >= 2, parts[0].hasPrefix("HTTP/1."), let status = Int(parts[1]) else {
            throw HTTPFailure.notHTTP(String(statusLine.prefix(80)))
        }
        let fields = try lines.dropFirst().map { line in
            guard let colon = line.firstIndex(of: ":") else { throw HTTPFailure.notHTTP(String(line.prefix(80))) }
            let value = line[line.index(after: colon)...].drop { $0 == " " }
            return HTTPAnswer.Field(name: String(line[..<colon]), value: String(value))
        }
        let head = HTTPAnswer(status: status, fields: fields, body: [])
        let rest = buffer[headEnd.upperBound...]
        if hasNoBody || status < 200 || status == 204 || status == 304 {
            buffer = Array(rest)
            return status < 200 ? try next(hasNoBody: hasNoBody, isEnd: isEnd) : head
        }
        guard let (body, remainder) = try Self.body(of: head, in: rest, isEnd: isEnd) else { return nil }
        buffer = Array(remainder)
        return HTTPAnswer(status: status, fields: fields, body: body)
    }

    private static func body(
        of head: HTTPAnswer, in rest: ArraySlice<UInt8>, isEnd: Bool
    ) throws -> (body: [UInt8], remainder: ArraySlice<UInt8>)? {
        if head["Transfer-Encoding"]?.lowercased() == "chunked" { return try chunks(rest) }
        if let length = head["Content-Length"] {
            guard let count = Int(length) else { throw HTTPFailure.notHTTP("Content-Length: \(length)") }
            return rest.count >= count ? (Array(rest.prefix(count)), rest.dropFirst(count)) : nil
        }
        return isEnd ? (Array(rest), []) : nil
    }

    private static func chunks(_ octets: ArraySlice<UInt8>) throws -> (body: [UInt8], remainder: ArraySlice<UInt8>)? {
        var body: [UInt8] = []
        var rest = octets
        while let lineEnd = rest.firstRange(of: Array("\r\n".utf8)) {
            let size = String(decoding: rest[..<lineEnd.lowerBound], as: UTF8.self)
            guard let count = Int(size.prefix(while: { $0 != ";" }), radix: 16) else { throw HTTPFailure.notHTTP(size) }
            rest = rest[lineEnd.upperBound...]
            guard rest.count >= count + 2 else { return nil }
            body += rest.prefix(count)
            rest = rest.dropFirst(count + 2)
            if count == 0 { return (body, rest) }
        }
        return nil
    }
}
