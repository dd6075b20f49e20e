import NativeSSO
import PostgresClient
import Testing

@testable import Registry

@Suite("Domain values as parameters")
struct PostgresValueTests {
    @Test(
        "An instant outside the storable range is a defect",
        arguments: [Int64.min, -1 << 40, 1 << 40, .max])
    func instantOutOfRange(seconds: Int64) {
        #expect(throws: PortError.self) { try PostgresValue.instant(UnixTime(seconds: seconds)) }
    }

    @Test("Every instant of the years 1 to 9999 is stored unchanged")
    func instant() throws {
        for seconds: Int64 in [-62_135_596_800, -1, 0, 1_795_000_000, 253_402_300_799] {
            #expect(try PostgresValue.instant(UnixTime(seconds: seconds)) == .timestamp(seconds * 1_000_000))
        }
        #expect(try PostgresValue.instant(nil) == .null)
    }

    @Test("In a comparison an instant outside the storable range counts as its beginning or end")
    func clamped() {
        for (seconds, counted): (Int64, Int64) in [
            (.min, -62_135_596_800), (-1, -1), (253_402_300_799, 253_402_300_799), (.max, 253_402_300_799),
        ] { #expect(PostgresValue.clamped(UnixTime(seconds: seconds)) == .timestamp(counted * 1_000_000)) }
        #expect(PostgresValue.clamped(nil) == .null)
    }
}
