import BrokerHarness

extension Attack {
    /// More HTTP attacks: messages that two servers might read differently.
    @ListBuilder static var framingAttacks: [Attack] {
        Attack("H-01", "no HTTP/1.1") {
            for (name, text) in [
                ("a TLS hello", "\u{16}\u{3}\u{1}\u{2}\0\u{1}\0\u{1}\u{FC}\u{3}\u{3}"),
                ("SSH", "SSH-2.0-OpenSSH_9.2\r\n"),
                ("the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), ("NUL", "\0\0\0\0\r\n\r\n"),
                ("HTTP/0.9", "POST /token\r\n\r\n"), ("HTTP/1.2", "POST /token HTTP/1.2\r\nHost: a\r\n\r\n"),
                ("HTTP/2.0", "POST /token HTTP/2.0\r\nHost: a\r\n\r\n"),
                ("small letters", "POST /token http/1.1\r\nHost: a\r\n\r\n"),
                ("a word too many", "POST /token x HTTP/1.1\r\nHost: a\r\n\r\n"),
                ("a tab", "POST\t/token\tHTTP/1.1\r\nHost: a\r\n\r\n"),
                ("no target", "POST HTTP/1.1\r\nHost: a\r\n\r\n"),
                ("line feeds alone", "POST /token HTTP/1.1\nHost: a\n\n"),
                ("a carriage return alone", "POST /token HTTP/1.1\rHost: a\r\r"),
            ] { raw(name, .malformed("http_malformed"), unsayable: requestLine) { _ in Array(text.utf8) } }
            http(
                "a small method", .refused(status: 405, error: "invalid_request", reason: "http_method_unknown"),
                inHTTP2: .other(.refused(status: 405, error: "invalid_request", reason: "http_method"))
            ) { $0.method = "post" }
            // RFC 9112 §3 lets a server take any white space for one space.
            raw("two spaces", .malformed("http_content_type"), unsayable: requestLine) { _ in
                Array("POST  /token  HTTP/1.1\r\nHost: a\r\n\r\n".utf8)
            }
            raw("an empty line before it", .granted, unsayable: requestLine) { fixture in
                [0x0D, 0x0A] + HTTPRequest.token(try fixture.exchange().parameters).octets
            }
        }
        Attack("H-07", "almost the path") {
            for path in [
                "/token;x=1", "/./token", "/x/../token", "/%74oken", "/token%00", "/token%20", "/token\\", "/TOKEN",
                "/token.json", "/tokenx", "/toke", "/token//",
            ] {
                http(path, .refused(status: 404, error: "invalid_request", reason: "http_unknown_path")) {
                    $0.target = path
                }
            }
        }
        Attack("H-08", "a target beyond ASCII") {
            http(
                "a slash that looks like one", .malformed("http_malformed"),
                inHTTP2: .other(.refused(status: 404, error: "invalid_request", reason: "http_unknown_path"))
            ) { $0.target = "/\u{FF0F}token" }
        }
        Attack("H-09", "another transfer coding, or the same written otherwise") {
            for coding in ["identity", "xchunked", "chunked;q=1", "\"chunked\"", ",chunked"] {
                chunked(coding.debugDescription, .malformed("http_transfer_coding"), "0\r\n\r\n", coding: coding)
            }
            for coding in ["chunked, chunked", "chunked, identity", "\u{B}chunked"] {
                chunked(coding.debugDescription, .malformed("http_malformed"), "0\r\n\r\n", coding: coding)
            }
            chunked("in capitals", .granted, nil, coding: "CHUNKED")
            http("twice", .malformed("http_malformed")) {
                $0.fields += [("Transfer-Encoding", "chunked"), ("Transfer-Encoding", "chunked")]
                $0.omitsLength = true
                $0.body = Array("0\r\n\r\n".utf8)
            }
            http("a space before the colon", .malformed("http_malformed")) {
                $0.fields.append(("Transfer-Encoding ", "chunked"))
            }
        }
        Attack("H-11", "a length written otherwise") {
            http(
                "beyond 63 bits", .refused(status: 413, error: "invalid_request", reason: "http_body_too_large"),
                inHTTP2: .malformed
            ) {
                $0.omitsLength = true
                $0.fields.append(("Content-Length", "9223372036854775808"))
            }
            http("the same twice", .malformed("http_malformed")) {
                $0.fields.append(("Content-Length", "\($0.body.count)"))
            }
            http("with zeros before", .granted) {
                $0.fields.append(("Content-Length", "000\($0.body.count)"))
                $0.omitsLength = true
            }
            // Frames say where a body ends.
            http("none at all", .malformed("grant_type_missing"), inHTTP2: .other(.granted)) { $0.omitsLength = true }
        }
        Attack("H-12", "a chunk size written otherwise") {
            for size in ["0x3", "+3", "-3", "", "3 3", "3,", "\u{FF13}", "3\n", "\t"] {
                chunked(size.debugDescription, .malformed("http_malformed"), "\(size)\r\na=b\r\n0\r\n\r\n")
            }
            chunked("data longer than it says", .malformed("http_malformed"), "2\r\na=b\r\n0\r\n\r\n")
            chunked("a good one", .granted, nil)
        }
        Attack("H-13", "a header that is none") {
            for line in ["X A: b", "X\u{E4}: b", "X-A\t: b", "X(A): b", "X-A", "\u{1}: b", "X-A: \u{1}"] {
                http(line.debugDescription, .malformed("http_malformed")) {
                    let parts = line.split(separator: ":", maxSplits: 1).map(String.init)
                    $0.fields.append((parts[0], parts.count > 1 ? parts[1] : ""))
                    if parts.count == 1 { $0.fields[$0.fields.count - 1].name = "X-A\r\nX-B" }
                }
            }
            http("no value", .granted) { $0.fields.append(("X-A", "")) }
            http("octets beyond ASCII in a value", .granted) { $0.fields.append(("X-A", "\u{E4}")) }
        }
        Attack("H-14", "what asks for something beside the answer") {
            http("an interim answer", .granted) { $0.fields.append(("Expect", "100-continue")) }
            http(
                "another expectation", .refused(status: 417, error: "invalid_request", reason: "http_expectation")
            ) { $0.fields.append(("Expect", "200-ok")) }
            http("another protocol", .granted, inHTTP2: .malformed) {
                $0.fields += [
                    ("Connection", "Upgrade, HTTP2-Settings"), ("Upgrade", "h2c"), ("HTTP2-Settings", "AAMA"),
                ]
            }
            http("another method", .granted) { $0.fields.append(("X-HTTP-Method-Override", "DELETE")) }
            http("another address", .granted) { $0.fields.append(("X-Original-URL", "/metrics")) }
        }
        Attack("H-23", "the media type written otherwise") {
            http("twice", .malformed("http_content_type")) { $0.fields += [$0.fields[0]] }
            http("in capitals", .granted) {
                $0.fields = [("CONTENT-TYPE", "APPLICATION/X-WWW-FORM-URLENCODED;CHARSET=\"UTF-8\"")]
            }
        }
    }
}

extension Attack {
    /// RFC 9113 §8.3.1 replaces it with fields. `HTTP2Tests` covers a wrong preface.
    private static let requestLine = "HTTP/2 has no request line"

    /// `POST /token` with this chunked body; `nil` sends a good form in two chunks.
    static func chunked(
        _ name: String, _ verdict: Verdict, _ body: String?, coding: String = "chunked"
    ) -> Variant {
        http(name, verdict, inHTTP2: .malformed) {
            $0.fields.append(("Transfer-Encoding", coding))
            $0.omitsLength = true
            var good: [UInt8] = []
            for part in [$0.body.prefix(3), $0.body.dropFirst(3)] {
                good += Array("\(String(part.count, radix: 16))\r\n".utf8) + part + [0x0D, 0x0A]
            }
            $0.body = body.map { Array($0.utf8) } ?? good + Array("0\r\n\r\n".utf8)
        }
    }
}
