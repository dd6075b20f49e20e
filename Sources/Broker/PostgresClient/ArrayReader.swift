/// Reads PostgreSQL's binary array form.
enum ArrayReader {
    /// `nil` unless it is a one-dimensional array of non-NULL UTF-8 texts.
    static func texts(in octets: Span<UInt8>) -> [String]? {
        var position = 0
        guard let dimensions = int32(octets, &position), int32(octets, &position) != nil,
            int32(octets, &position) != nil
        else { return nil }
        if dimensions == 0 { return position == octets.count ? [] : nil }
        guard dimensions == 1, let count = int32(octets, &position), count >= 0, int32(octets, &position) != nil
        else { return nil }
        var elements: [String] = []
        for _ in 0..<count {
            guard let length = int32(octets, &position), length >= 0, Int(length) <= octets.count - position,
                let text = String(octets: octets.extracting(position..<position + Int(length)))
            else { return nil }
            elements.append(text)
            position += Int(length)
        }
        return position == octets.count ? elements : nil
    }

    private static func int32(_ octets: Span<UInt8>, _ position: inout Int) -> Int32? {
        guard octets.count - position >= 4 else { return nil }
        defer { position += 4 }
        return Int32(truncatingIfNeeded: octets.extracting(position..<position + 4).signedInteger)
    }
}

extension String {
    /// `nil` unless the octets are UTF-8.
    init?(octets: Span<UInt8>) {
        do throws(UTF8.ValidationError) {
            self.init(copying: try UTF8Span(validating: octets))
        } catch {
            return nil
        }
    }
}

extension Span<UInt8> {
    var array: [UInt8] { unsafe withUnsafeBufferPointer { unsafe Array($0) } }

    /// Big-endian, two's complement, of at most eight octets.
    var signedInteger: Int64 {
        var value: Int64 = count > 0 && self[0] >= 0x80 ? -1 : 0
        for index in indices { value = value << 8 | Int64(self[index]) }
        return value
    }
}
