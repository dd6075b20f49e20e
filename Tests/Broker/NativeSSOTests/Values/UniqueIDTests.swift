import BrokerTesting
import RegistryConformance
import NativeSSO
import Testing

@Suite struct UniqueIDTests {
    /// RFC 9562 appendix A.6.
    private let published = "017f22e2-79b0-7cc3-98c4-dc0c0c07398f"

    @Test func textAndOctetsAreOneValue() throws {
        let id = try #require(UniqueID(published))
        #expect(id.description == published)
        #expect(id.octets.count == 16)
        #expect(id.octets.first == 0x01)
        #expect(id.octets.last == 0x8F)
        #expect(UniqueID(octets: id.octets[...]) == id)
        #expect(UniqueID(octets: id.octets.reversed().reversed()[...]) == id)
    }

    @Test func everyValueSurvivesTheRoundTrip() {
        for _ in 0..<500 {
            let id = UniqueID.random()
            #expect(UniqueID(id.description) == id)
            #expect(UniqueID(octets: id.octets[...]) == id)
        }
    }

    @Test(arguments: [
        "", "017f22e2", "017F22E2-79B0-7CC3-98C4-DC0C0C07398F", "017f22e279b07cc398c4dc0c0c07398f",
        "017f22e2-79b0-7cc3-98c4-dc0c0c07398", "017f22e2-79b0-7cc3-98c4-dc0c0c07398f0",
        "017f22e2-79b0-7cc3-98c4-dc0c0c07398f\n", " 017f22e2-79b0-7cc3-98c4-dc0c0c07398f",
        "017f22e2-79b0-7cc3-98c4_dc0c0c07398f", "017f22e2-79b0-7cc3-98c4-dc0c0c07398g",
        "{17f22e2-79b0-7cc3-98c4-dc0c0c07398}", "017f22e-279b0-7cc3-98c4-dc0c0c07398f",
        "017f22e2-79b0-7cc3-98c4-dc0c0c0739\u{FF10}",
    ])
    func refuses(text: String) {
        #expect(UniqueID(text) == nil)
    }

    @Test(arguments: [0, 15, 17, 32])
    func refusesOtherLengths(count: Int) {
        #expect(UniqueID(octets: [UInt8](repeating: 1, count: count)[...]) == nil)
    }

    /// RFC 9562 §5.7: 48 bits of milliseconds, version 7, variant 10.
    @Test func timeOrderedIsVersion7() throws {
        var randomness = SystemRandomNumberGenerator()
        var seen: Set<UniqueID> = []
        for _ in 0..<500 {
            let id = UniqueID.timeOrdered(milliseconds: 0x017F_22E2_79B0, using: &randomness)
            #expect(id.description.hasPrefix("017f22e2-79b0-7"))
            #expect(id.low >> 62 == 0b10)
            #expect(seen.insert(id).inserted)
        }
        let earlier = UniqueID.timeOrdered(milliseconds: 1_795_000_000_000, using: &randomness)
        let later = UniqueID.timeOrdered(milliseconds: 1_795_000_000_001, using: &randomness)
        #expect(earlier.octets.lexicographicallyPrecedes(later.octets))
        // Beyond 48 bits, in the year 10889, the highest ones are dropped; nothing traps.
        #expect(UniqueID.timeOrdered(milliseconds: .max, using: &randomness).description.hasPrefix("ffffffff-ffff-7"))
    }

    /// The expected slot was computed independently: 0x275, the first 10 bits of the hash.
    @Test func rowsOfALoginHaveItsSlot() throws {
        let scenario = try ExchangeScenario()
        let slot = UniqueID.slot(
            issuer: Issuer(validated: "https://idp.example.com"), subject: Subject(validated: "248289761001"))
        #expect(slot == 0x275)
        var randomness = SystemRandomNumberGenerator()
        var ends: Set<UInt64> = []
        for _ in 0..<100 {
            let id = UniqueID.timeOrdered(milliseconds: 0x017F_22E2_79B0, slot: slot, using: &randomness)
            #expect(id.high >> 2 == 0x017F_22E2_79B0 << 14 | 0x7000 >> 2 | 0x275 && id.low >> 62 == 0b10)
            ends.insert(id.high & 3)
        }
        #expect(ends.count == 4, "two bits of rand_a stay random")

        let asked = try scenario.admission
        let expected = UniqueID.slot(issuer: scenario.issuer, subject: scenario.subject)
        #expect([asked.proposedGrantID, asked.proposedSessionRowID].allSatisfy { $0.high >> 2 & 0x3FF == expected })
    }
}
