/// FNV-1a, 64 bits: quick, the same in every process, and no defence against whoever looks for a collision.
enum FNV1a {
    static func digest(_ octets: some Sequence<UInt8>) -> UInt64 {
        var digest: UInt64 = 0xcbf2_9ce4_8422_2325
        for octet in octets { digest = (digest ^ UInt64(octet)) &* 0x100_0000_01b3 }
        return digest
    }
}
