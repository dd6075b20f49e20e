/// Addresses that begin with the same bits: CIDR notation, RFC 4632 §3.1 and RFC 4291 §2.3. One address is a block too.
public struct AddressBlock: Sendable, Hashable {
    private let prefix: NetworkAddress
    private let length: Int

    /// - Parameter text: Such as `10.0.0.0/8`, `2001:db8::/32` or `192.0.2.7`. No bit after the prefix may be set: whoever
    ///   writes `10.1.2.3/8` means something else.
    public init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        guard parts.count <= 2, let address = NetworkAddress(parts[0]) else { return nil }
        // `::ffff:10.0.0.0/104`: the prefix would count bits that the address no longer has.
        guard (address.family == .v6) == parts[0].utf8.contains(UInt8(ascii: ":")) else { return nil }
        length = parts.count == 1 ? address.bitCount : Self.length(parts[1], upTo: address.bitCount) ?? -1
        prefix = address
        guard length >= 0, address.prefix(length) == address else { return nil }
    }

    public func contains(_ address: NetworkAddress) -> Bool {
        address.family == prefix.family && address.prefix(length) == prefix
    }

    private static func length(_ text: String, upTo limit: Int) -> Int? {
        guard let length = Int(text), String(length) == text, (0...limit).contains(length) else { return nil }
        return length
    }
}
