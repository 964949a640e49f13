package daemon

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/bridges/dispatch"
)

// deliveryMetrics reads the state of deliveries once per scrape. The number of
// bridges is bounded, which bounds the label.
type deliveryMetrics struct{ stats func() dispatch.Stats }

var (
	descDeliveryLag      = prometheus.NewDesc("holon_delivery_lag_events", "Events between the newest one and the subscription that is furthest behind.", nil, nil)
	descDeliveryActive   = prometheus.NewDesc("holon_delivery_bridge_active", "1 unless the bridge is paused or disabled.", []string{"bridge"}, nil)
	descDeliverySubs     = prometheus.NewDesc("holon_delivery_subscriptions", "Subscriptions of the bridge.", []string{"bridge"}, nil)
	descDeliveryHeld     = prometheus.NewDesc("holon_delivery_subscriptions_held", "Subscriptions of the bridge that wait for a client, because too much was to be sent.", []string{"bridge"}, nil)
	descDeliveryBlocked  = prometheus.NewDesc("holon_delivery_subscriptions_blocked", "Subscriptions of the bridge in which messages wait behind an end that disagrees with its turn.", []string{"bridge"}, nil)
	descDeliveryPending  = prometheus.NewDesc("holon_delivery_pending", "Deliveries that wait to be sent.", []string{"bridge"}, nil)
	descDeliveryOldest   = prometheus.NewDesc("holon_delivery_oldest_pending_seconds", "Age of the oldest delivery that is not settled; 0 if there is none.", []string{"bridge"}, nil)
	descDeliveryMismatch = prometheus.NewDesc("holon_delivery_mismatches", "Deliveries whose event does not agree with the rows of its turn.", []string{"bridge"}, nil)
	descDeliveryInFlight = prometheus.NewDesc("holon_delivery_in_flight", "Attempts under way.", []string{"bridge"}, nil)
	descDeliveryStuck    = prometheus.NewDesc("holon_delivery_stuck", "Attempts that did not return in their time and have not since; they have no place, and the next start tries their deliveries again.", []string{"bridge"}, nil)
	descDeliveryAttempt  = prometheus.NewDesc("holon_delivery_attempt_seconds", "Attempts and how long they took, by outcome.", []string{"bridge", "outcome"}, nil)
	descDeliverySettled  = prometheus.NewDesc("holon_delivery_settled_total", "Deliveries that have ended, by state.", []string{"bridge", "state"}, nil)
	descMismatchesFound  = prometheus.NewDesc("holon_delivery_mismatches_total", "Mismatches that were found.", []string{"bridge"}, nil)
)

// Describe implements prometheus.Collector.
func (m *deliveryMetrics) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		descDeliveryLag, descDeliveryActive, descDeliverySubs, descDeliveryHeld, descDeliveryBlocked, descDeliveryPending, descDeliveryOldest, descDeliveryMismatch,
		descDeliveryInFlight, descDeliveryStuck, descDeliveryAttempt, descDeliverySettled, descMismatchesFound,
	} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (m *deliveryMetrics) Collect(ch chan<- prometheus.Metric) {
	s := m.stats()
	ch <- prometheus.MustNewConstMetric(descDeliveryLag, prometheus.GaugeValue, float64(s.Lag))
	for _, b := range s.Bridges {
		active := 0.0
		if b.State == bridges.Active {
			active = 1
		}
		for desc, v := range map[*prometheus.Desc]float64{
			descDeliveryActive: active, descDeliverySubs: float64(b.Subscriptions), descDeliveryHeld: float64(b.Held), descDeliveryBlocked: float64(b.Blocked),
			descDeliveryPending: float64(b.Pending), descDeliveryOldest: b.OldestPending.Seconds(), descDeliveryMismatch: float64(b.Mismatches),
			descDeliveryInFlight: float64(b.InFlight), descDeliveryStuck: float64(b.Stuck),
		} {
			ch <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, v, b.BridgeID)
		}
	}
	bounds := dispatch.Latencies()
	for _, a := range s.Attempts {
		buckets := make(map[float64]uint64, len(bounds))
		for i, bound := range bounds {
			buckets[bound] = a.Counts[i]
		}
		ch <- prometheus.MustNewConstHistogram(descDeliveryAttempt, a.Count, a.Sum, buckets, a.BridgeID, string(a.Outcome))
	}
	for _, c := range withZeros(s) {
		if c.State == bridges.StateMismatch {
			ch <- prometheus.MustNewConstMetric(descMismatchesFound, prometheus.CounterValue, float64(c.Count), c.BridgeID)
			continue
		}
		ch <- prometheus.MustNewConstMetric(descDeliverySettled, prometheus.CounterValue, float64(c.Count), c.BridgeID, string(c.State))
	}
}

// withZeros returns how many deliveries came into each state, with those of the bridges that
// have had none, so that a rate sees the first one.
func withZeros(s dispatch.Stats) []dispatch.DeliveryCounts {
	list := slices.Clone(s.Became)
	has := map[dispatch.DeliveryCounts]bool{} // with the count 0
	for _, c := range list {
		has[dispatch.DeliveryCounts{BridgeID: c.BridgeID, State: c.State}] = true
	}
	for _, b := range s.Bridges {
		for _, state := range bridges.DeliveryStates {
			if c := (dispatch.DeliveryCounts{BridgeID: b.BridgeID, State: state}); state != bridges.StatePending && !has[c] {
				list = append(list, c)
			}
		}
	}
	return list
}
