import StrictCoding
import Testing

@Suite struct UnreservedCharactersTests {
    @Test func everyOctet() {
        let unreserved = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~".utf8)
        for octet in UInt8.min...UInt8.max { #expect(octet.isUnreserved == unreserved.contains(octet)) }
    }
}
