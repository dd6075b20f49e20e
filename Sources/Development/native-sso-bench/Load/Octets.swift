import Glibc

/// Looking for octets without making values of them.
enum Octets {
    /// Where `text` goes on behind the first occurrence of `needle`, which is not empty.
    static func position(of needle: StaticString, in text: UnsafeRawBufferPointer) -> Int? {
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
