/// One answer as it came, with all that the contract says of it.
struct FuzzAnswer {
    let status: Int
    /// Names in small letters.
    let fields: [(name: String, value: String)]
    let body: [UInt8]

    func value(_ name: String) -> String? {
        let values = fields.filter { $0.name == name }
        return values.count == 1 ? values[0].value : nil
    }

    var isLast: Bool { value("connection") == "close" }

    enum Reading {
        case answer(FuzzAnswer, length: Int)
        case incomplete
        case notHTTP
    }

    /// The answer at the beginning of these octets. RFC 9112 §4.
    static func read(_ octets: ArraySlice<UInt8>) -> Reading {
        guard let end = headEnd(octets) else { return .incomplete }
        let lines = String(decoding: octets[octets.startIndex..<end - 4], as: UTF8.self).split(separator: "\r\n")
        let start = lines.first?.split(separator: " ", maxSplits: 2) ?? []
        guard start.count >= 2, start[0] == "HTTP/1.1", let status = Int(start[1]) else { return .notHTTP }
        var fields: [(name: String, value: String)] = []
        for line in lines.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1)
            guard parts.count == 2 else { return .notHTTP }
            fields.append((parts[0].lowercased(), String(parts[1].drop { $0 == " " })))
        }
        let head = FuzzAnswer(status: status, fields: fields, body: [])
        if status < 200 { return .answer(head, length: end - octets.startIndex) }
        guard let length = head.value("content-length").flatMap({ Int($0) }), length >= 0 else { return .notHTTP }
        guard octets.endIndex - end >= length else { return .incomplete }
        return .answer(
            FuzzAnswer(status: status, fields: fields, body: Array(octets[end..<end + length])),
            length: end + length - octets.startIndex)
    }

    /// Where the head ends, behind its empty line.
    private static func headEnd(_ octets: ArraySlice<UInt8>) -> Int? {
        var index = octets.startIndex
        while index + 3 < octets.endIndex {
            if octets[index + 3] == 0x0A {
                if octets[index] == 0x0D, octets[index + 1] == 0x0A, octets[index + 2] == 0x0D { return index + 4 }
                index += 1
            } else {
                index += 1
            }
        }
        return nil
    }
}
