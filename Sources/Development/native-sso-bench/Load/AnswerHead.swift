import BrokerHarness
import Glibc

/// As much of an HTTP/1.1 answer as is needed to know where it ends.
struct AnswerHead: Equatable {
    let status: Int
    /// Where the body begins, and how long it is.
    let bodyStart: Int
    let bodyLength: Int

    /// `nil` while the head is not all there, and for one that does not say how long the body is.
    init?(_ received: UnsafeRawBufferPointer) {
        guard let bodyStart = Octets.position(of: "\r\n\r\n", in: received) else { return nil }
        let head = UnsafeRawBufferPointer(rebasing: received[..<bodyStart])
        guard head.count > 12, let length = Self.contentLength(head) else { return nil }
        status = Octets.number(head, at: 9)
        self.bodyStart = bodyStart
        bodyLength = length
    }

    /// RFC 9110 §5.1: names of fields are the same in either case.
    private static func contentLength(_ head: UnsafeRawBufferPointer) -> Int? {
        let name: StaticString = "Content-Length:"
        guard let start = head.baseAddress else { return nil }
        var offset = 0
        while let newline = memchr(start + offset, 0x0a, head.count - offset) {
            offset = UnsafeRawPointer(newline) - start + 1
            guard offset + name.utf8CodeUnitCount < head.count else { return nil }
            let line = (start + offset).assumingMemoryBound(to: CChar.self)
            if strncasecmp(line, name.utf8Start, name.utf8CodeUnitCount) == 0 {
                var value = offset + name.utf8CodeUnitCount
                while value < head.count, head[value] == 0x20 { value += 1 }
                return Octets.number(head, at: value)
            }
        }
        return nil
    }
}

extension Octets {
    /// The decimal number that `text` begins with at `offset`; 0 if it does not.
    static func number(_ text: UnsafeRawBufferPointer, at offset: Int) -> Int {
        var value = 0
        for octet in text[min(offset, text.count)...].prefix(9) {
            guard (0x30...0x39).contains(octet) else { break }
            value = value * 10 + Int(octet - 0x30)
        }
        return value
    }
}
