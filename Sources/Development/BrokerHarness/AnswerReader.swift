import Glibc

/// Reads HTTP/1.1 answers from octets that arrive in any portions. RFC 9112 §6.
package struct AnswerReader: Sendable {
    private var buffer: [UInt8] = []
    private var start = 0

    package init() {}

    package mutating func append(_ octets: some Collection<UInt8>) {
        if isEmpty { (buffer, start) = ([], 0) }
        buffer += octets
    }

    package var isEmpty: Bool { start == buffer.count }

    /// The next complete answer, taken out of the buffer; `nil` if more octets are needed.
    /// - Parameters:
    ///   - hasNoBody: Whether it answers a HEAD request.
    ///   - isEnd: Whether nothing more will come: ends a body of unknown length.
    ///   - showsInterim: Gives answers below 200, too.
    ///   - acceptsHTTP10: Takes answers of HTTP/1.0, too.
    package mutating func next(
        hasNoBody: Bool = false, isEnd: Bool = false, showsInterim: Bool = false, acceptsHTTP10: Bool = false
    ) throws(HTTPFailure) -> HTTPAnswer? {
        guard let headEnd = position(of: "\r\n\r\n", from: start) else { return nil }
        let lines = String(decoding: buffer[start..<headEnd], as: UTF8.self).split(separator: "\r\n")
        let parts = (lines.first ?? "").split(separator: " ", maxSplits: 2)
        guard parts.count >= 2, parts[0] == "HTTP/1.1" || acceptsHTTP10 && parts[0] == "HTTP/1.0",
            let status = Int(parts[1])
        else {
            throw .notHTTP(String(lines.first?.prefix(80) ?? ""))
        }
        var fields: [(name: String, value: String)] = []
        for line in lines.dropFirst() {
            guard let colon = line.firstIndex(of: ":") else { throw .notHTTP(String(line.prefix(80))) }
            let value = line[line.index(after: colon)...].drop { $0 == " " }
            fields.append((String(line[..<colon]), String(value)))
        }
        let head = HTTPAnswer(status: status, fields: fields, body: [])
        if status < 200, !showsInterim {
            start = headEnd + 4
            return try next(hasNoBody: hasNoBody, isEnd: isEnd)
        }
        let hasBody = !hasNoBody && status >= 200 && status != 204 && status != 304
        guard let (body, end) = hasBody ? try self.body(of: head, at: headEnd + 4, isEnd) : ([], headEnd + 4) else {
            return nil
        }
        start = end
        return HTTPAnswer(status: status, fields: fields, body: body)
    }

    private func body(of head: HTTPAnswer, at start: Int, _ isEnd: Bool) throws(HTTPFailure) -> ([UInt8], end: Int)? {
        if head["Transfer-Encoding"]?.lowercased() == "chunked" { return try chunks(at: start) }
        if let length = head["Content-Length"] {
            guard let count = Int(length), count >= 0 else { throw .notHTTP("Content-Length: \(length)") }
            return buffer.count - start >= count ? (Array(buffer[start..<start + count]), start + count) : nil
        }
        return isEnd ? (Array(buffer[start...]), buffer.count) : nil
    }

    private func chunks(at start: Int) throws(HTTPFailure) -> ([UInt8], end: Int)? {
        var body: [UInt8] = []
        var place = start
        while let lineEnd = position(of: "\r\n", from: place) {
            let size = String(decoding: buffer[place..<lineEnd], as: UTF8.self)
            guard let count = Int(size.prefix(while: { $0 != ";" }), radix: 16), count >= 0 else {
                throw .notHTTP(size)
            }
            place = lineEnd + 2
            guard buffer.count - place >= count + 2 else { return nil }
            body += buffer[place..<place + count]
            place += count + 2
            if count == 0 { return (body, place) }
        }
        return nil
    }

    private func position(of needle: StaticString, from start: Int) -> Int? {
        buffer.withUnsafeBytes { octets in
            Octets.position(of: needle, in: UnsafeRawBufferPointer(rebasing: octets[start...]))
                .map { start + $0 - needle.utf8CodeUnitCount }
        }
    }
}

/// Looking for octets without making values of them.
package enum Octets {
    /// Where `text` goes on behind the first occurrence of `needle`, which is not empty. By memchr(3): a fuzzer reads many
    /// answers.
    package static func position(of needle: StaticString, in text: UnsafeRawBufferPointer) -> Int? {
        guard let start = text.baseAddress, needle.hasPointerRepresentation else { return nil }
        let (pattern, count) = (needle.utf8Start, needle.utf8CodeUnitCount)
        var offset = 0
        while offset + count <= text.count,
            let found = memchr(start + offset, Int32(pattern[0]), text.count - offset - count + 1)
        {
            if memcmp(found, pattern, count) == 0 { return UnsafeRawPointer(found) - start + count }
            offset = UnsafeRawPointer(found) - start + 1
        }
        return nil
    }
}
