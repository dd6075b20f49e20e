import BrokerHarness

extension Attack {
    /// The octets are no request to the token endpoint, or their end is ambiguous.
    @ListBuilder static var httpAttacks: [Attack] {
        Attack("H-02", "another method on /token") {
            for method in ["GET", "HEAD", "PUT", "DELETE", "PATCH", "OPTIONS", "QUERY"] {
                http(method, .refused(status: 405, error: "invalid_request", reason: "http_method")) {
                    $0.method = method
                }
            }
        }
        Attack("H-03", "TRACE") {
            http("TRACE", .refused(status: 405, error: "invalid_request", reason: "http_method")) {
                $0.method = "TRACE"
            }
        }
        Attack("H-06", "a query string beside the form") {
            for query in ["?grant_type=x", "?client_id=app-two", "?"] {
                http(query, .malformed("http_query")) { $0.target += query }
            }
        }
        Attack("H-07", "another path on the public listener") {
            for path in [
                "/", "/token/../metrics", "//token", "/token%2f", "/Token", "/token/", "/.well-known/jwks.json",
                "/metrics", "/livez", "/readyz", "/.well-known/oauth-authorization-server", "/backchannel-logout",
            ] {
                for method in ["GET", "POST"] {
                    http(
                        "\(method) \(path)",
                        .refused(status: 404, error: "invalid_request", reason: "http_unknown_path")
                    ) {
                        $0.method = method
                        $0.target = path
                    }
                }
            }
        }
        Attack("H-08", "a target that only a proxy is asked for") {
            http("absolute", .malformed("http_target_form")) { $0.target = "http://internal.example/token" }
            http("authority", .malformed("http_target_form"), inHTTP2: .malformed) {
                $0.method = "CONNECT"
                $0.target = "127.0.0.1:5432"
                $0.body = []
            }
            http("asterisk", .malformed("http_target_form")) {
                $0.method = "OPTIONS"
                $0.target = "*"
            }
        }
        Attack("H-09", "a length and chunks together") {
            http("both", .malformed("http_malformed")) { $0.fields.append(("Transfer-Encoding", "chunked")) }
            http("chunks by another name", .malformed("http_transfer_coding")) {
                $0.fields.append(("Transfer-Encoding", "gzip, chunked"))
                $0.omitsLength = true
                $0.body = Array("0\r\n\r\n".utf8)
            }
        }
        Attack("H-10", "two lengths") {
            for length in ["5", "20"] {
                http(length, .malformed("http_malformed")) { $0.fields.append(("Content-Length", length)) }
            }
        }
        Attack("H-11", "a length that is no plain number") {
            for length in [
                "+10", "0x0a", "10,10", "-1", "99999999999999999999", "1e3", "", "5 5", "5;", "5,5", "\u{FF15}", "0b1",
                " ",
                "5\t5",
            ] {
                http(length.debugDescription, .malformed("http_malformed")) {
                    $0.omitsLength = true
                    $0.fields.append(("Content-Length", length))
                }
            }
        }
        Attack("H-12", "tricks with chunks") {
            chunked("a size beyond all numbers", .malformed("http_malformed"), "FFFFFFFFFFFFFFFFF\r\n")
            chunked("a size that is no number", .malformed("http_malformed"), "xyz\r\nabc\r\n0\r\n\r\n")
            chunked(
                "an endless extension", .malformed("http_chunk_extension"),
                "3;a=\(String(repeating: "b", count: 65_536))\r\nabc\r\n0\r\n\r\n")
            chunked(
                "a trailer that overrides the header", .malformed("http_trailers"),
                "3\r\na=b\r\n0\r\nAuthorization: Basic YXBwLXR3bzo=\r\n\r\n")
        }
        Attack("H-13", "header lines that are read differently by different servers") {
            head("folded", "http_malformed", "X-A: a\r\n b")
            head("space before the colon", "http_malformed", "Authorization : Basic YXBwLXR3bzo=")
            head("NUL", "http_malformed", "X-A: a\0b")
            head("bare CR", "http_malformed", "X-A: a\rX-B: b")
            head("no name", "http_malformed", ": b", inHTTP2: .goAway)
        }
        Attack("H-15", "a header over the limit") {
            // Beyond SETTINGS_MAX_HEADER_LIST_SIZE: RFC 9113 §10.5.1.
            http(
                "one field", .refused(status: 431, error: "invalid_request", reason: "http_header_too_large"),
                inHTTP2: .goAway
            ) {
                $0.fields.append(("Authorization", "Basic " + String(repeating: "A", count: 65_536)))
            }
            http(
                "all together", .refused(status: 431, error: "invalid_request", reason: "http_header_too_large"),
                inHTTP2: .goAway
            ) {
                for index in 0..<60 { $0.fields.append(("X-\(index)", String(repeating: "A", count: 4096))) }
            }
            http("too many", .refused(status: 431, error: "invalid_request", reason: "http_header_too_large")) {
                for index in 0..<200 { $0.fields.append(("X-\(index)", "a")) }
            }
            http("the target", .refused(status: 414, error: "invalid_request", reason: "http_target_too_long")) {
                $0.target += "?" + String(repeating: "a", count: 9000)
            }
        }
        Attack("H-16", "a body over the limit") {
            http("said before", .refused(status: 413, error: "invalid_request", reason: "http_body_too_large")) {
                $0.body = Array("a=".utf8) + [UInt8](repeating: 0x62, count: 65_535)
            }
            chunked(
                "in chunks", .refused(status: 413, error: "invalid_request", reason: "http_body_too_large"),
                "\(String(65_537, radix: 16))\r\n\(String(repeating: "a", count: 65_537))\r\n0\r\n\r\n")
        }
        Attack("H-23", "another media type") {
            for type in [
                "application/json", "multipart/form-data; boundary=x", "text/plain", "",
                "application/x-www-form-urlencoded; charset=iso-8859-1",
                "application/x-www-form-urlencoded, application/json", "application/x-www-form-urlencodedx",
                "application/x-www-form-urlencoded;", "application/x-www-form-urlencoded; charset=utf-8; charset=utf-8",
                "application/x-www-form-urlencoded; charset=utf-16", "x-www-form-urlencoded",
                "application/x-www-form-urlencoded; boundary=x", "application /x-www-form-urlencoded",
            ] {
                http("\"\(type)\"", .malformed("http_content_type")) { $0.fields = [("Content-Type", type)] }
            }
            http("none", .malformed("http_content_type")) { $0.fields = [] }
            http("compressed", .malformed("http_content_encoding")) {
                $0.fields.append(("Content-Encoding", "gzip"))
            }
            http("UTF-8, said", .granted) {
                $0.fields = [("content-type", "application/x-www-form-urlencoded;charset=UTF-8")]
            }
        }
        Attack("H-27", "what a proxy would add, from somebody who is none") {
            http("forwarded", .granted) {
                $0.fields += [
                    ("X-Forwarded-For", "10.0.0.1"), ("X-Forwarded-Proto", "https"), ("Forwarded", "for=10.0.0.1"),
                    ("X-Client-Cert", "MII="), ("X-Request-Id", "00000000-0000-0000-0000-000000000000"),
                ]
            }
        }
        Attack("H-28", "the Host header") {
            http("another host changes nothing", .granted) { $0.host = "evil.example" }
            http("two", .malformed("http_host")) { $0.fields.append(("Host", "evil.example")) }
            http("none", .malformed("http_host")) { $0.host = nil }
        }
    }
}

extension Attack {
    /// A good request with one more header line; in HTTP/2 with one more field, split at the colon.
    fileprivate static func head(_ name: String, _ reason: String, _ line: String, inHTTP2: InHTTP2 = .malformed)
        -> Variant
    {
        Variant(name: name, verdict: .malformed(reason), inHTTP2: inHTTP2) { fixture in
            let good = HTTPRequest.token(try fixture.exchange().parameters).octets
            guard let end = good.firstRange(of: Array("\r\n".utf8)) else { return good }
            return good[..<end.upperBound] + Array((line + "\r\n").utf8) + good[end.upperBound...]
        } twin: { fixture in
            let parts = line.split(separator: ": ", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            return HTTPRequest.token(try fixture.exchange().parameters, fields: [(parts[0], parts[1])])
        }
    }
}
