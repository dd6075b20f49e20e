@testable import HTTPServer
import Testing

@Suite("Strict chunk framing, RFC 9112 §7.1")
struct ChunkScannerTests {
    private func scan(_ text: String, extensions: Int = 16) -> ChunkScanner.Progress {
        var scanner = ChunkScanner(maximumExtensionOctets: extensions)
        return scanner.scan(Array(text.utf8))
    }

    @Test(
        "Whole bodies are read to their end",
        arguments: [
            ("0\r\n\r\n", 5), ("3\r\nabc\r\n0\r\n\r\nPOST", 13), ("a\r\n0123456789\r\n0\r\n\r\n", 20),
            ("0003;x=y\r\nabc\r\n000;z\r\n\r\n", 24), ("1\r\n\r\r\n0\r\n\r\n", 11),
        ])
    func finished(text: String, count: Int) {
        #expect(scan(text) == .finished(count))
        // And the same octet by octet.
        var scanner = ChunkScanner(maximumExtensionOctets: 16)
        for (index, octet) in text.utf8.enumerated() {
            let progress = scanner.scan(CollectionOfOne(octet))
            #expect(progress == (index == count - 1 ? .finished(1) : .unfinished))
            if index == count - 1 { break }
        }
    }

    @Test(
        "Malformed chunks are faults",
        arguments: [
            ("\r\n", HTTPFault.malformed), ("g\r\n", .malformed), ("-1\r\n", .malformed), ("3\n", .malformed),
            ("3 \r\n", .malformed), ("0x3\r\n", .malformed), ("3\r\nabcd", .malformed), ("3\r\nabc\n", .malformed),
            ("FFFFFFFFFFFFFFFF\r\n", .malformed), ("000000001\r\n", .malformed), ("3;a\nb\r\n", .malformed),
            ("3;01234567890123456\r\n", .chunkExtension), ("0\r\nX: y\r\n", .trailers), ("0\r\n\rX", .malformed),
        ])
    func faults(text: String, fault: HTTPFault) {
        #expect(scan(text) == .fault(fault))
    }

    @Test("Extensions are counted over the whole body")
    func extensions() {
        #expect(scan("1;12345678\r\na\r\n1;12345678\r\na\r\n1;1\r\n") == .fault(.chunkExtension))
        #expect(scan("1;12345678\r\na\r\n1;12345678\r\na\r\n") == .unfinished)
    }

    @Test("The largest size that is read does not overflow")
    func largest() {
        #expect(scan("FFFFFFFF\r\nabc") == .unfinished)
    }
}

@Suite("The end of a head")
struct HeadEndTests {
    @Test(
        "The end is found in whole and in split input",
        arguments: [
            ("\r\n\r\n", 4), ("a\r\n\r\nb", 5), ("\r\r\n\r\n", 5), ("a\r\n\r\r\n\r\n", 8), ("\r\nx\r\n\r\n", 7),
            ("a\n\nb", nil), ("\r\n\r", nil),
        ] as [(String, Int?)])
    func found(text: String, count: Int?) {
        var whole = HeadEnd()
        let result = whole.scan(Array(text.utf8))
        #expect(result.isComplete == (count != nil))
        #expect(result.count == count ?? text.utf8.count)
        var pieces = HeadEnd()
        var position: Int?
        for (index, octet) in text.utf8.enumerated() where pieces.scan(CollectionOfOne(octet)).isComplete {
            position = index + 1
            break
        }
        #expect(position == count)
    }
}
