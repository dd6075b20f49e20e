@testable import HTTPServer
import NIOCore
import NIOHTTP1
import Testing

@Suite("The client address of a request")
struct ClientAddressTests {
    private func client(_ text: String) throws -> ClientAddress { ClientAddress(try #require(NetworkAddress(text))) }

    @Test("All spellings of an address are one caller, and so are all addresses of a /64")
    func spellings() throws {
        #expect(try client("2001:DB8:0:0::1") == client("2001:db8::1"))
        #expect(try client("::ffff:192.0.2.7") == client("192.0.2.7"))
        #expect(try client("::ffff:c000:207") == client("192.0.2.7"))
        #expect(try client("192.0.2.7") != client("192.0.2.8"))
        #expect(try client("0.0.0.7") != client("::7"))
        #expect(try client("2001:db8:1:2::1") == client("2001:db8:1:2:ffff:ffff:ffff:ffff"))
        #expect(try client("2001:db8:1:2::1") != client("2001:db8:1:3::1"))
    }

    @Test("An address prints in one spelling, and its logged network is coarser")
    func texts() throws {
        #expect(try client("192.0.2.7").description == "192.0.2.7")
        #expect(try client("2001:db8:1:2:3::4").description == "2001:db8:1:2::/64")
        #expect(try client("192.0.2.7").network == "192.0.2.0/24")
        #expect(try client("2001:db8:1:2:3::4").network == "2001:db8:1::/48")
    }

    @Test(
        "Only complete numeric addresses are accepted",
        arguments: [
            "", "localhost", "1.2.3", "1.2.3.4.5", "256.1.1.1", "01.2.3.4", "1.2.3.4 ", "::1%lo", "[::1]", "1.2.3.4:80",
            "1::2::3",
            "/run/x", "1.2.3.4\0",
        ])
    func noAddress(_ text: String) { #expect(NetworkAddress(text) == nil) }

    @Test("The address of a socket is read")
    func sockets() throws {
        let (v4, v6) = (
            try SocketAddress(ipAddress: "192.0.2.7", port: 9), try SocketAddress(ipAddress: "2001:db8::5", port: 9)
        )
        #expect(NetworkAddress(v4) == NetworkAddress("192.0.2.7"))
        #expect(NetworkAddress(v6) == NetworkAddress("2001:db8::5"))
        #expect(NetworkAddress(try SocketAddress(unixDomainSocketPath: "/run/x")) == nil)
    }

    @Test(
        "Address blocks match their addresses",
        arguments: [
            ("10.0.0.0/8", "10.255.0.1", true), ("10.0.0.0/8", "11.0.0.0", false), ("192.0.2.7", "192.0.2.7", true),
            ("192.0.2.7", "192.0.2.6", false), ("0.0.0.0/0", "203.0.113.9", true), ("0.0.0.0/0", "::1", false),
            ("2001:db8::/32", "2001:db8:ffff::1", true), ("2001:db8::/32", "2001:db9::1", false),
            ("2001:db8::4/127", "2001:db8::5", true), ("2001:db8::4/127", "2001:db8::6", false),
            ("10.0.0.0/8", "::ffff:10.1.2.3", true), ("::/0", "2001:db8::1", true),
        ])
    func blocks(_ text: String, _ address: String, _ isInside: Bool) throws {
        let block = try #require(AddressBlock(text))
        #expect(block.contains(try #require(NetworkAddress(address))) == isInside)
    }

    @Test(
        "Malformed blocks are refused",
        arguments: [
            "10.0.0.1/8", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/+8", "10.0.0.0/08", "2001:db8::1/64", "2001:db8::/129",
            "/8",
            "10.0.0.0/8/8", "::ffff:10.0.0.0/104", "proxy.example", "",
        ])
    func noBlock(_ text: String) { #expect(AddressBlock(text) == nil) }
}

@Suite("Which forwarding headers are trusted")
struct TrustedProxiesTests {
    private func client(
        of peer: String?, _ fields: [(String, String)], _ proxies: [String], unix: Bool = false,
        header: TrustedProxies.Header = .xForwardedFor
    ) throws -> String? {
        let blocks = try proxies.map { try #require(AddressBlock($0)) }
        let address = try peer.map { try #require(NetworkAddress($0)) }
        return TrustedProxies(blocks: blocks, includesUnixSocket: unix, header: header)
            .client(of: address, HTTPHeaders(fields))?.description
    }

    @Test("H-27 a stranger's headers change nothing")
    func strangers() throws {
        let fields = [("X-Forwarded-For", "10.0.0.1"), ("Forwarded", "for=10.0.0.1")]
        #expect(try client(of: "203.0.113.5", fields, []) == "203.0.113.5")
        #expect(try client(of: "203.0.113.5", fields, ["192.0.2.0/24"]) == "203.0.113.5")
        #expect(try client(of: nil, fields, ["0.0.0.0/0"]) == nil)
    }

    @Test(
        "Behind proxies the client is the last address that is not a proxy",
        arguments: [
            ("198.51.100.4", "198.51.100.4"),
            ("10.9.9.9, 198.51.100.4", "198.51.100.4"),
            ("1.1.1.1,198.51.100.4 ,192.0.2.8", "198.51.100.4"),
            ("198.51.100.4:4711", "198.51.100.4"),
            ("[2001:db8:1:2::3]:443", "2001:db8:1:2::/64"),
            ("2001:db8:1:2::3", "2001:db8:1:2::/64"),
            ("192.0.2.9, 192.0.2.8", "192.0.2.9"),
            // Forms one character with the comma after it.
            ("\u{600}, 198.51.100.4", "198.51.100.4"),
            ("9.9.9.9,\u{301} 9.9.9.9, 198.51.100.4", "198.51.100.4"),
        ])
    func chains(_ value: String, _ expected: String) throws {
        #expect(try client(of: "192.0.2.7", [("x-forwarded-for", value)], ["192.0.2.0/24"]) == expected)
        #expect(try client(of: nil, [("x-forwarded-for", value)], ["192.0.2.0/24"], unix: true) == expected)
    }

    @Test("Several header fields form one list")
    func fields() throws {
        let fields = [("X-Forwarded-For", "9.9.9.9"), ("X-Forwarded-For", "198.51.100.4, 192.0.2.8")]
        #expect(try client(of: "192.0.2.7", fields, ["192.0.2.0/24"]) == "198.51.100.4")
    }

    @Test("A proxy without a forwarding header is the caller")
    func silence() throws {
        #expect(try client(of: "192.0.2.7", [], ["192.0.2.7"]) == "192.0.2.7")
        #expect(try client(of: nil, [], [], unix: true) == nil)
    }

    @Test(
        "All unreadable addresses are one caller",
        arguments: [
            "unknown", "_hidden", "", "1.2.3.4,", "1.2.3.4:0", "1.2.3.4:99999", "[1.2.3.4]", "[::1", "::1:x",
            "a.example", "1.2.3.4:", "1.2.3.4,\u{301}", "\u{600}, unknown",
        ])
    func unreadable(_ value: String) throws {
        let fields = [("x-forwarded-for", value)]
        #expect(try client(of: "192.0.2.7", fields, ["192.0.2.7"]) == "unreadable")
        #expect(try client(of: nil, fields, [], unix: true) == "unreadable")
    }

    @Test(
        "Forwarded, RFC 7239",
        arguments: [
            ("for=198.51.100.4", "198.51.100.4"),
            ("For=\"198.51.100.4:80\";proto=https;by=192.0.2.7", "198.51.100.4"),
            ("for=9.9.9.9, by=x;for=\"[2001:db8:1:2::3]:80\", for=192.0.2.8", "2001:db8:1:2::/64"),
            ("for=\"a,for=9.9.9.9\"", "unreadable"), ("for=unknown", "unreadable"), ("proto=https", "unreadable"),
            ("for=1.2.3.4;for=5.6.7.8", "unreadable"), ("for=\"1.2.3.4", "unreadable"),
            ("for=\"1.2.3\\.4\"", "unreadable"), ("fo\u{301}r=1.2.3.4", "unreadable"), ("", "unreadable"),
            // A client's open quote or escape ends where the proxy's element begins.
            ("\", for=198.51.100.4", "198.51.100.4"), ("\\, for=198.51.100.4", "198.51.100.4"),
            ("for=\"9.9.9.9\\, for=\"198.51.100.4\";by=x", "198.51.100.4"),
            ("\u{600}, for=198.51.100.4", "198.51.100.4"),
            ("\", for=192.0.2.8", "unreadable"),
            // A proxy's quoted text stays quoted.
            ("for=198.51.100.4;host=\"a,for=9.9.9.9\"", "198.51.100.4"),
            ("for=198.51.100.4;host=\"a\\\",for=9.9.9.9\"", "unreadable"),
            ("for=198.51.100.4;host=\"a,for=9.9.9.9;x=\\\"b\"", "unreadable"),
        ])
    func forwarded(_ value: String, _ expected: String) throws {
        let fields = [("forwarded", value), ("X-Forwarded-For", "203.0.113.99")]
        #expect(try client(of: "192.0.2.7", fields, ["192.0.2.0/24"], header: .forwarded) == expected)
    }
}
