import NativeSSO
import Testing

@Suite struct PooledRandomnessTests {
    /// Many tasks at once draw many times the size of the pool, and no number comes twice.
    @Test func noNumberComesTwice() async {
        let numbers = await withTaskGroup(of: [UInt64].self) { group in
            for _ in 0..<8 {
                group.addTask {
                    var randomness = PooledRandomness()
                    return (0..<1000).map { _ in randomness.next() }
                }
            }
            return await group.reduce(into: []) { $0 += $1 }
        }
        #expect(numbers.count == 8000)
        #expect(Set(numbers).count == numbers.count)
    }

    /// Each bit is set in about half of them: 4096 ± 8 standard deviations.
    @Test func everyBitIsRandom() {
        var randomness = PooledRandomness()
        let numbers = (0..<8192).map { _ in randomness.next() }
        for bit in 0..<64 {
            let count = numbers.count { $0 >> bit & 1 == 1 }
            #expect((3734...4458).contains(count))
        }
    }
}
