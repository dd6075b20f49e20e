import NIOCore

/// An IPv4 or IPv6 address in binary: all notations of one address are one value. An IPv4-mapped IPv6 address (RFC 4291
/// §2.5.5.2) is the IPv4 address.
package struct NetworkAddress: Sendable, Hashable {
    package enum Family: Sendable { case v4, v6 }

    package let family: Family
    /// The first 64 bits of an IPv6 address; 0 for IPv4.
    package let high: UInt64
    /// The last 64 bits of an IPv6 address; the 32 bits of an IPv4 address.
    package let low: UInt64

    /// - Parameter text: Numeric, without brackets, port or zone.
    package init?(_ text: String) {
        // No zone: a scoped address has no meaning on another host.
        guard !text.utf8.contains(UInt8(ascii: "%")), !text.utf8.contains(0),
            let address = try? SocketAddress(ipAddress: text, port: 0)
        else { return nil }
        self.init(address)
    }

    /// `nil` for a Unix socket.
    init?(_ address: SocketAddress) {
        // The members of `sockaddr_in` belong to a module of NIO that cannot be imported. Their offsets are the same on
        // every platform: the address is at octet 4, in `sockaddr_in6` at octet 8.
        switch address {
        case .v4:
            self.init(
                v4: address.withSockAddr { socket, _ in UInt32(bigEndian: Self.load(UnsafeRawPointer(socket), at: 4)) })
        case .v6:
            let (high, low) = address.withSockAddr { socket, _ in
                (
                    UInt64(bigEndian: Self.load(UnsafeRawPointer(socket), at: 8)),
                    UInt64(bigEndian: Self.load(UnsafeRawPointer(socket), at: 16))
                )
            }
            self.init(high: high, low: low)
        case .unixDomainSocket: return nil
        }
    }

    private static func load<Value: BitwiseCopyable>(_ socket: UnsafeRawPointer, at offset: Int) -> Value {
        socket.loadUnaligned(fromByteOffset: offset, as: Value.self)
    }

    init(v4 bits: UInt32) { self.init(family: .v4, high: 0, low: UInt64(bits)) }

    init(high: UInt64, low: UInt64) {
        if high == 0, low >> 32 == 0xFFFF {
            self.init(v4: UInt32(truncatingIfNeeded: low))
        } else {
            self.init(family: .v6, high: high, low: low)
        }
    }

    private init(family: Family, high: UInt64, low: UInt64) {
        self.family = family
        self.high = high
        self.low = low
    }

    /// 127.0.0.0/8 (RFC 1122 §3.2.1.3) or `::1` (RFC 4291 §2.5.3).
    package var isLoopback: Bool {
        switch family {
        case .v4: low >> 24 == 127
        case .v6: high == 0 && low == 1
        }
    }

    /// `0.0.0.0` or `::`, which a socket understands as every address of the machine.
    package var isUnspecified: Bool { high == 0 && low == 0 }

    /// Keeps the first `count` bits; the others become 0.
    package func prefix(_ count: Int) -> NetworkAddress {
        switch family {
        case .v4: NetworkAddress(v4: UInt32(truncatingIfNeeded: low) & ~(UInt32.max >> UInt32(clamping: count)))
        case .v6:
            NetworkAddress(
                high: high & ~(UInt64.max >> UInt64(clamping: count)),
                low: low & ~(UInt64.max >> UInt64(clamping: count - 64)))
        }
    }

    var bitCount: Int { family == .v4 ? 32 : 128 }
}

extension NetworkAddress: CustomStringConvertible {
    /// As `inet_ntop` writes it, in the form of RFC 5952, without brackets.
    package var description: String {
        var octets = ByteBuffer()
        switch family {
        case .v4: octets.writeInteger(UInt32(truncatingIfNeeded: low))
        case .v6: octets.writeMultipleIntegers(high, low)
        }
        return (try? SocketAddress(packedIPAddress: octets, port: 0))?.ipAddress ?? ""
    }
}

/// Addresses that begin with the same bits: CIDR notation, RFC 4632 §3.1 and RFC 4291 §2.3. A single address is a
/// block, too.
package struct AddressBlock: Sendable, Hashable {
    private let prefix: NetworkAddress
    private let length: Int

    /// - Parameter text: Such as `10.0.0.0/8`, `2001:db8::/32` or `192.0.2.7`. No bit after the prefix may be set:
    ///   `10.1.2.3/8` is probably a mistake.
    package init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        guard parts.count <= 2, let address = NetworkAddress(parts[0]) else { return nil }
        // `::ffff:10.0.0.0/104`: the prefix would count bits that the mapped address no longer has.
        guard (address.family == .v6) == parts[0].utf8.contains(UInt8(ascii: ":")) else { return nil }
        length = parts.count == 1 ? address.bitCount : Self.length(parts[1], upTo: address.bitCount) ?? -1
        prefix = address
        guard length >= 0, address.prefix(length) == address else { return nil }
    }

    /// Whether every address of its family is in it.
    package var isEverything: Bool { length == 0 }

    /// Whether it is larger than proxies need: 65,536 IPv4 addresses or more, or a /48 of IPv6.
    package var isWide: Bool { length <= (prefix.family == .v4 ? 16 : 48) }

    package func contains(_ address: NetworkAddress) -> Bool {
        address.family == prefix.family && address.prefix(length) == prefix
    }

    private static func length(_ text: String, upTo limit: Int) -> Int? {
        guard let length = Int(text), String(length) == text, (0...limit).contains(length) else { return nil }
        return length
    }
}
